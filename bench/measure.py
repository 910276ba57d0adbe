"""How every benchmark here measures: all sides in one run, in turn, and medians compared as ratios.

A machine is busy now and idle then. Sides that take turns meet the same hours, so their ratio is worth something
where their seconds are not. No benchmark fails because of a number; it says what was reached and what was missed.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

Side = Callable[[], dict[str, float]]
"""Does its work once and returns the seconds of each part, by name."""


def timed(name: str, work: Callable[[], object]) -> Side:
    """Make a side of a function, by the clock on the wall."""

    def once() -> dict[str, float]:
        started = time.perf_counter()
        work()
        return {name: time.perf_counter() - started}

    return once


def told_by(command: Sequence[str]) -> Side:
    """Make a side of a script that times its own parts and prints them as JSON, such as a peer's."""

    def once() -> dict[str, float]:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        parts: dict[str, float] = json.loads(done.stdout)
        return parts

    return once


def interleaved(sides: Sequence[Side], rounds: int) -> dict[str, float]:
    """Run all sides in turn, so many rounds, and return the median seconds of every part."""
    seconds: dict[str, list[float]] = {}
    for round_number in range(rounds):
        _say(f"round {round_number + 1} of {rounds}")
        for side in sides:
            for name, each in side().items():
                seconds.setdefault(name, []).append(each)
    return {name: statistics.median(each) for name, each in seconds.items()}


@dataclass(frozen=True)
class Whole:
    """What a whole process took, from its start to its end: medians over the rounds."""

    seconds: float
    processor_seconds: float
    peak_bytes: float


def whole_processes(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Whole]:
    """Run whole processes in turn, so many rounds, and return the medians of what each took."""
    reports: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for round_number in range(rounds):
        for name, command in commands.items():
            _say(f"round {round_number + 1} of {rounds}: {name}")
            reports[name].append(_launched(command))
    return {
        name: Whole(**{key: statistics.median(report[key] for report in each) for key in each[0]})
        for name, each in reports.items()
    }


def _launched(command: Sequence[str]) -> dict[str, float]:
    launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py"))]
    done = subprocess.run([*launcher, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    report: dict[str, float] = json.loads(done.stdout)
    return report


@dataclass(frozen=True)
class Target:
    """A bound that a ratio should stay within, and the ratios measured, each with its name.

    `at_most` says which way: a time ratio must not exceed its bound, a rate ratio must not fall below it.
    """

    claim: str
    bound: float
    at_most: bool
    measured: Mapping[str, float]

    def verdict(self) -> str:
        """Say in one line whether the worst of the ratios reached the target, and which it was."""
        if not self.measured:
            return f"not measured: {self.claim} (run `make bench-peers` first)"
        worst = (max if self.at_most else min)(self.measured, key=lambda name: self.measured[name])
        ratio = self.measured[worst]
        reached = ratio <= self.bound if self.at_most else ratio >= self.bound
        word = "reached" if reached else "missed"
        _record({"claim": self.claim, "worst": times(ratio), "where": worst, "verdict": word})
        return f"{word}: {self.claim}; worst {times(ratio)}, {worst}"


RECORD = "UNLISTED_BENCH_RECORD"
"""The environment variable that names a file for verdicts; `bench.everything` makes its table of them."""


def _record(verdict: Mapping[str, str]) -> None:
    if RECORD in os.environ:
        with Path(os.environ[RECORD]).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(verdict) + "\n")


def times(ratio: float) -> str:
    """Write a ratio the way all benchmarks do."""
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.2f}x"


def print_header(question: str, packages: Sequence[str] = ("numpy", "pyarrow")) -> None:
    """Print what is asked, and of what: the machine, how busy it is, and the versions."""
    print(question)
    installed = ", ".join(f"{name} {_version(name)}" for name in ("unlisted", *packages))
    busy = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load unknown"
    print(f"{_processor()}, {os.cpu_count()} cores, {busy}; Python {platform.python_version()}, {installed}\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)).rstrip())
    print()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    if names.exists():
        for line in names.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _say(progress: str) -> None:
    """Say on stderr how far it is, on a terminal only: stdout is the answer."""
    if sys.stderr.isatty():
        print(progress, file=sys.stderr)
