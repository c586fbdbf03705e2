#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""proc.py - what tests ask of /proc.
proc.py tree PID            PID and all its descendants, one "pid:starttime" a line
proc.py alive FILE          those lines of FILE whose process still exists (zombies do not count)
proc.py marked TEXT         pids whose command line holds TEXT, but this one's
proc.py peak FILE CMD...    runs CMD, exits as it did; FILE gets JSON: peak memory in KiB of CMD's own process ("self") and,
                            by name, of the largest process below it
"""
import json
import os
import subprocess
import sys
import time


def stat(pid):
    """(state, parent, starttime) or None"""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return fields[0], int(fields[1]), fields[19]
    except (OSError, IndexError, ValueError):
        return None


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def below(root):
    """root and its descendants, parents first: {pid: starttime}"""
    rows = {pid: s for pid in pids() if (s := stat(pid))}
    found = [root] if root in rows else []
    for pid in found:
        found += [child for child, s in rows.items() if s[1] == pid]
    return {pid: rows[pid][2] for pid in found}


def tree(root):
    for pid, start in below(root).items():
        print(f"{pid}:{start}")


def alive(path):
    with open(path, encoding="utf-8") as f:
        lines = f.read().split()
    for line in sorted(set(lines)):
        pid, start = line.split(":")
        s = stat(pid)
        if s and s[0] not in "ZX" and s[2] == start:
            print(line)


def marked(text):
    for pid in pids():
        if pid in (os.getpid(), os.getppid()):
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        s = stat(pid)
        if text.encode() in line and b"proc.py" not in line and s and s[0] not in "ZX":
            print(pid)


def high_water(pid):
    """(name, VmHWM in KiB) or None"""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            fields = dict(line.rstrip().split(":", 1) for line in f if ":" in line)
        return fields["Name"].strip(), int(fields["VmHWM"].split()[0])
    except (OSError, KeyError, ValueError):
        return None


def peak(path, command):
    child = subprocess.Popen(command)
    found = {"self": 0}
    while child.poll() is None:
        for line in below(child.pid):
            seen = high_water(line)
            if seen:
                name = "self" if line == child.pid else seen[0]
                found[name] = max(found.get(name, 0), seen[1])
        time.sleep(0.02)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(found, f)
    sys.exit(child.returncode % 256)


if __name__ == "__main__":
    if sys.argv[1] == "tree":
        tree(int(sys.argv[2]))
    elif sys.argv[1] == "alive":
        alive(sys.argv[2])
    elif sys.argv[1] == "marked":
        marked(sys.argv[2])
    elif sys.argv[1] == "peak":
        peak(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
