#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""proc.py - what tests ask of /proc.
proc.py tree PID            PID and all its descendants, one "pid:starttime" a line
proc.py alive FILE          those lines of FILE whose process still exists (zombies do not count)
proc.py marked TEXT         pids whose command line holds TEXT, but this one's
proc.py peak FILE CMD...    runs CMD, writes its peak memory in KiB (largest single process) to FILE, exits as it did
"""
import os
import sys


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


def tree(root):
    rows = {pid: s for pid in pids() if (s := stat(pid))}
    found = [root] if root in rows else []
    for pid in found:
        found += [child for child, s in rows.items() if s[1] == pid]
    for pid in found:
        print(f"{pid}:{rows[pid][2]}")


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


def peak(path, command):
    pid = os.fork()
    if pid == 0:
        os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    with open(path, "w", encoding="utf-8") as f:
        print(usage.ru_maxrss, file=f)
    sys.exit(os.waitstatus_to_exitcode(status) % 256)


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
