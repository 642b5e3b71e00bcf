# SPDX-License-Identifier: Apache-2.0
"""h2load as a client of the bench (load.h says what one says and waits for).

    h2load.py CPU|- OPTION...

It runs on that CPU alone, and its files are in the working directory.
"""
import contextlib
import json
import os
import re
import subprocess
import sys

LOG = "h2load.log"
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def took(text):
    number, unit = re.search(r"finished in ([\d.]+)(us|ms|s),", text).groups()
    return float(number) * UNITS[unit]


def microseconds():
    """Of each request that was answered, sorted."""
    with open(LOG, encoding="ascii") as log:
        return sorted(int(line.split("\t")[2]) for line in log)


def main():
    cpu, *options = sys.argv[1:]
    if cpu != "-":
        os.sched_setaffinity(0, {int(cpu)})
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    with contextlib.suppress(FileNotFoundError):
        os.remove(LOG)  # h2load adds to it
    text = subprocess.run(["h2load", f"--log-file={LOG}", *options], check=True,
                          capture_output=True, text=True).stdout
    total, good = map(int, re.search(r"requests: (\d+) total,.* (\d+) succeeded", text).groups())
    octets = sum(map(int, re.search(r"traffic: .*\((\d+)\) total.*\((\d+)\) data", text).groups()[1:]))
    each = microseconds()
    print(json.dumps({"count": good, "failed": total - good, "seconds": took(text),
                      "octets": octets, "p50_us": each[len(each) // 2] if each else 0,
                      "p99_us": each[len(each) * 99 // 100] if each else 0}), flush=True)
    sys.stdin.read()


main()
