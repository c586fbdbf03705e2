#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""schema.py SCHEMA DOCUMENT... - checks JSON documents against a JSON Schema, the part of 2020-12 that our schemas use.
A keyword that is not known here is an error, so nothing is ever silently not checked.  Prints each violation with its JSON
Pointer; exit status 0 valid, 1 not, 2 trouble with the schema itself."""
import json
import re
import sys

NOTES = {"$schema", "$id", "$defs", "$comment", "title", "description", "default", "examples", "format", "deprecated"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Trouble(Exception):
    pass


def is_type(value, name):
    if name == "integer":
        return (isinstance(value, int) or isinstance(value, float) and value.is_integer()) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name not in TYPES:
        raise Trouble(f"unknown type {name}")
    return isinstance(value, TYPES[name])


def resolve(root, ref):
    if not ref.startswith("#"):
        raise Trouble(f"$ref {ref}: only references within the schema")
    node = root
    for token in ref[1:].split("/")[1:]:
        node = node[token.replace("~1", "/").replace("~0", "~")]
    return node


def check(value, schema, root, at):
    """yields violations"""
    if schema is True:
        return
    if schema is False:
        yield at, "must not be here"
        return
    length = len(value) if isinstance(value, (str, list, dict)) else None
    number = is_type(value, "number")
    for key, want in schema.items():
        if key in NOTES or key in ("additionalProperties", "then", "else"):
            continue
        if key == "$ref":
            yield from check(value, resolve(root, want), root, at)
        elif key == "type":
            names = want if isinstance(want, list) else [want]
            if not any(is_type(value, name) for name in names):
                yield at, f"must be {' or '.join(names)}, is {json.dumps(value)[:60]}"
        elif key == "const":
            if value != want or isinstance(value, bool) != isinstance(want, bool):
                yield at, f"must be {json.dumps(want)}, is {json.dumps(value)[:60]}"
        elif key == "enum":
            if value not in want:
                yield at, f"must be one of {json.dumps(want)}, is {json.dumps(value)[:60]}"
        elif key == "required":
            for name in want if isinstance(value, dict) else []:
                if name not in value:
                    yield at, f"lacks {name}"
        elif key in ("properties", "patternProperties"):
            pass  # below, together
        elif key == "propertyNames":
            for name in value if isinstance(value, dict) else []:
                yield from check(name, want, root, f"{at}/{name}")
        elif key == "items":
            for i, item in enumerate(value[len(schema.get("prefixItems", [])):] if isinstance(value, list) else []):
                yield from check(item, want, root, f"{at}/{i}")
        elif key == "prefixItems":
            for i, item in enumerate(value if isinstance(value, list) else []):
                if i < len(want):
                    yield from check(item, want[i], root, f"{at}/{i}")
        elif key == "pattern":
            if isinstance(value, str) and not re.search(want, value):
                yield at, f"must match {want}, is {json.dumps(value)[:60]}"
        elif key in ("minLength", "minItems", "minProperties"):
            kind = {"minLength": str, "minItems": list, "minProperties": dict}[key]
            if isinstance(value, kind) and length < want:
                yield at, f"is shorter than {want}"
        elif key in ("maxLength", "maxItems", "maxProperties"):
            kind = {"maxLength": str, "maxItems": list, "maxProperties": dict}[key]
            if isinstance(value, kind) and length > want:
                yield at, f"is longer than {want}"
        elif key == "uniqueItems":
            if want and isinstance(value, list) and len({json.dumps(v, sort_keys=True) for v in value}) < len(value):
                yield at, "has equal items"
        elif key == "minimum":
            if number and value < want:
                yield at, f"is below {want}"
        elif key == "maximum":
            if number and value > want:
                yield at, f"is above {want}"
        elif key == "exclusiveMinimum":
            if number and value <= want:
                yield at, f"must be above {want}"
        elif key == "dependentRequired":
            for name, needed in want.items():
                for other in needed if isinstance(value, dict) and name in value else ():
                    if other not in value:
                        yield at, f"has {name} but not {other}"
        elif key == "allOf":
            for part in want:
                yield from check(value, part, root, at)
        elif key in ("anyOf", "oneOf"):
            problems = [list(check(value, part, root, at)) for part in want]
            good = sum(not p for p in problems)
            if good == 0:
                yield at, f"fits none of {key}: {min(problems, key=len)[0]}"
            elif key == "oneOf" and good > 1:
                yield at, f"fits {good} of oneOf"
        elif key == "not":
            if not list(check(value, want, root, at)):
                yield at, "must not fit `not`"
        elif key == "if":
            branch = "else" if list(check(value, want, root, at)) else "then"
            yield from check(value, schema.get(branch, True), root, at)
        else:
            raise Trouble(f"keyword {key} is not known to schema.py")
    if isinstance(value, dict):
        for name, member in value.items():
            known = False
            if name in schema.get("properties", {}):
                known = True
                yield from check(member, schema["properties"][name], root, f"{at}/{name}")
            for pattern, part in schema.get("patternProperties", {}).items():
                if re.search(pattern, name):
                    known = True
                    yield from check(member, part, root, f"{at}/{name}")
            if not known and "additionalProperties" in schema:
                yield from check(member, schema["additionalProperties"], root, f"{at}/{name}")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    bad = False
    try:
        schema = load(sys.argv[1])
        for path in sys.argv[2:]:
            for at, problem in check(load(path), schema, schema, ""):
                bad = True
                print(f"{path}: {at or '/'}: {problem}")
    except (Trouble, OSError, ValueError, KeyError) as e:
        print(f"schema.py: {e}", file=sys.stderr)
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
