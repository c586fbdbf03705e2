#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""manual.py options PAGE PROGRAM - commands and options of each --help and those of the page, compared
manual.py keys PAGE SCHEMA [PAGE] - keys and words of the schema and those of the page, compared; what the words of a schema mean
    another page may say
manual.py names PAGE SCHEMA - what the page marks as a variable is a key of the schema
manual.py items PAGE SCHEMA - what the page lists as a command is a key or a word of the schema
manual.py taken PAGE PROGRAM - every command takes the options of its --help; run it in an empty folder
Prints a line for each difference, nothing if there is none."""
import json
import re
import subprocess
import sys


MACROS = {"Cm", "Va", "Ql", "Li", "Fl", "Ar", "Op", "Oo", "Oc", "Pq", "Po", "Pc", "Ns", "No", "Pf", "Sy", "Em", "Ev", "Pa", "Nm", "It", "Dq",
          "Sx", "Xr", "Dl", "Dv", "Pp", "Ta", "Er", "Sq", "Qq", "Ap"}
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])")


def page_lines(path):
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").replace("\\&", "").replace("\\(dq", '"').replace("\\-", "-").replace("\\e", "\\") for line in f
                if not line.startswith('.\\"')]


def section(lines, title):
    inside, found = False, []
    for line in lines:
        if line.startswith(".Sh "):
            inside = line[4:] == title
        elif inside:
            found.append(line)
    return found


def flags(line):
    """the options that a line of mdoc names"""
    words, found = line.split(), set()
    i = 0
    while i < len(words):
        if words[i] == "Fl" or words[i] == ".Fl":
            i += 1
            if i < len(words) and words[i] == "Fl":
                i += 1
                found.add("--" + words[i].rstrip(",;"))
            elif i < len(words):
                # `Fl -in | -json`: a bar goes on with the same macro
                found.add("-" + words[i] if len(words[i]) > 1 or words[i].isalpha() else words[i])
                while i + 2 < len(words) and words[i + 1] in ("|", ",") and words[i + 2] not in MACROS:
                    i += 2
                    found.add("-" + words[i])
        i += 1
    return {f for f in found if re.fullmatch(r"--[a-z][a-z-]*|-[a-z]", f)}


def help_text(program, *words):
    done = subprocess.run([program, *words, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} --help: exit status {done.returncode}")
    return done.stdout


def listed(text):
    """the commands that a --help lists, a line each"""
    return re.findall(r"^ {2}([a-z]+) {2,}\S", text, re.M)


def commands(program):
    """{(word, ...): text of its --help}"""
    top = help_text(program)
    found = {}
    for name in listed(top) or sorted({m for m in re.findall(r"agenttwin-guest ([a-z]+)", top)}):
        text = help_text(program, name) if listed(top) else "\n".join(
            line for line in top.splitlines() if f"agenttwin-guest {name}" in line)
        inner = listed(text) if f" {name} COMMAND" in text else re.findall(rf"^(?:usage:|      ) \S+ {name} ([a-z]+) FILE", text, re.M)
        for word in inner:
            found[(name, word)] = help_text(program, name, word)
        if not inner:
            found[(name,)] = text
    return found


def synopsis(lines):
    """[(words of the command, options, whether the block says that there are more)]"""
    blocks = []
    for line in section(lines, "SYNOPSIS"):
        if line.startswith(".Nm"):
            blocks.append([])
        elif blocks:
            blocks[-1].append(line)
    found = []
    for block in blocks:
        names = [line[4:].split() for line in block if line.startswith(".Cm ")][:1]
        if not names:
            continue
        # `key new | show`: two commands
        head = [re.sub(r"\W", "", word) for word in names[0] if re.search(r"\w", word)]
        words = [[head[0], word] for word in head[1:]] or [head]
        for one in words:
            found.append((tuple(one), set().union(*map(flags, block)), any("Ar option" in line for line in block)))
    return found


def compare_options(page, program):
    lines = page_lines(page)
    everywhere = set().union(*map(flags, lines))
    told = commands(program)
    blocks = {}
    for words, options, more in synopsis(lines):
        had = blocks.setdefault(words, [set(), False])
        had[0] |= options
        had[1] |= more
    for words in sorted(set(told) - set(blocks)):
        yield f"{' '.join(words)}: in --help, not in SYNOPSIS"
    for words in sorted(set(blocks) - set(told)):
        yield f"{' '.join(words)}: in SYNOPSIS, not in --help"
    items = " ".join(line for line in lines if line.startswith(".It Cm") or line.startswith(".Cm"))
    for words, text in sorted(told.items()):
        name = " ".join(words)
        if name not in items:
            yield f"{name}: the page does not say what it does"
        options = set(OPTION.findall(text)) - {"-h", "--help"}
        options.discard("-f")  # nft -f
        if words == ("doctor",) and " --version" in text and "guest" in program:
            options.discard("--version")  # stands in the same line
        block, more = blocks.get(words, [set(), True])
        for option in sorted(options - everywhere):
            yield f"{name} {option}: in --help, not in the page"
        if not more:
            for option in sorted(options & everywhere - block):
                # the short and the long form of one option stand in one line of --help
                pair = re.search(rf"(-[a-z]), {option}\b|{option}, (--[a-z-]+)", text)
                if not pair or (pair.group(1) or pair.group(2)) not in block:
                    yield f"{name} {option}: in --help, not in SYNOPSIS"
        for option in sorted(block - options - {"--version", "--help"}):
            yield f"{name} {option}: in SYNOPSIS, not in --help"
    helped = set().union(*(OPTION.findall(text) for text in told.values())) | {"--version", "--help", "-h"}
    for line in lines:
        if line.startswith(".It Fl"):
            for option in sorted(flags(line) - helped):
                yield f"{option}: in the page, in no --help"


def compare_taken(program):
    for words, text in sorted(commands(program).items()):
        if words[0] == "reap":
            continue  # it would act
        for option in sorted(set(OPTION.findall(text)) - {"-f"}):
            done = subprocess.run([program, *words, option], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            if re.search(r"unknown option|is not an option|no such option", done.stderr):
                yield f"{' '.join(words)} {option}: in --help, but refused"
        done = subprocess.run([program, *words, "--no-such-option"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 2:
            yield f"{' '.join(words)} --no-such-option: exit status {done.returncode}, not 2"


def walk(node, keys, words):
    """the names of properties, and the words of enum and const"""
    if isinstance(node, list):
        for item in node:
            walk(item, keys, words)
    elif isinstance(node, dict):
        for name, part in node.items():
            if name in ("properties", "$defs") and isinstance(part, dict):
                for key, value in part.items():
                    if name == "properties" and value is not False:
                        keys.add(key)
                    walk(value, keys, words)
            elif name in ("enum", "const"):
                words.update(v for v in (part if isinstance(part, list) else [part]) if isinstance(v, str))
            elif name not in ("default", "required", "examples"):
                walk(part, keys, words)


def spoken(lines):
    """what of a page is marked as literal, or stands in a table or an example"""
    found, shown = "", False
    for line in lines:
        if line.startswith((".Bd", ".Ed", ".Bl -column", ".El")):
            shown = line.startswith((".Bd", ".Bl"))
        elif shown or re.match(r"\.(.* )?(Cm|Va|Ql|Li|Dl|Ev|Dq|Qq|Dv|Sy) ", line):
            found += line + "\n"
    return found


def has(text, word):
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)


def compare_keys(page, schema, other):
    keys, words = set(), set()
    with open(schema, encoding="utf-8") as f:
        walk(json.load(f), keys, words)
    lines = page_lines(page)
    text = spoken(lines)
    for key in sorted(keys):
        if not has(text, key):
            yield f"{key}: in the schema, not in the page"
    if other:
        text += spoken(page_lines(other))
    for word in sorted(words - keys):
        if not has(text, word):
            yield f'"{word}": a value in the schema, not in the page'


def compare_names(page, schema):
    keys = set()
    with open(schema, encoding="utf-8") as f:
        walk(json.load(f), keys, set())
    for line in page_lines(page):
        if line.startswith((".Va ", ".It Va ")):
            for word in line.split("Va ", 1)[1].split():
                for name in re.split(r"(?:\[\d*\]|\.)+", word.strip(',;:()"')):
                    if re.fullmatch(r"[a-z_0-9]+", name) and name not in keys:
                        yield f"{name}: in the page, not in the schema"


def compare_items(page, schema):
    keys, words = set(), set()
    with open(schema, encoding="utf-8") as f:
        walk(json.load(f), keys, words)
    for line in page_lines(page):
        if line.startswith(".It Cm ") and " Ns " not in line:
            for word in re.split(r"[\s,|]+", line[7:]):
                if re.fullmatch(r"[a-z_]+", word) and word not in keys | words:
                    yield f"{word}: in the page, not in the schema"


def main():
    what, page, other, more = (sys.argv + [""] * 4)[1:5]
    found = {"options": lambda: compare_options(page, other), "keys": lambda: compare_keys(page, other, more),
             "names": lambda: compare_names(page, other), "items": lambda: compare_items(page, other),
             "taken": lambda: compare_taken(other)}[what]()
    for line in found:
        print(line)


if __name__ == "__main__":
    main()
