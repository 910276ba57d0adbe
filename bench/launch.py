"""Run one command and say how long it took, how much processor time, and how much memory it held at its peak.

usage: python launch.py COMMAND…            what the command prints goes to stderr; one line of JSON to stdout

A small process of its own, because Linux counts the memory of whoever starts a process into that process's peak:
a benchmark that holds a gigabyte of data would see a gigabyte in every child.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

_KIBIBYTE = 1 if sys.platform == "darwin" else 1024
"""What `ru_maxrss` counts in: bytes on macOS, kibibytes elsewhere."""


def main(command: list[str]) -> int:
    started = time.perf_counter()
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = {
        "seconds": seconds,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * _KIBIBYTE,
    }
    print(json.dumps(report))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
