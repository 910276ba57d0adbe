"""One mutant at a time: a copy of the package with one change, a forked child, the tests that reach the change.

A mutant is *killed* by a test of which an assertion fails, or which meets a refusal of ours that it did not
expect. One that only makes tests crash, or run for ever, has *crashed*: it would be noticed, but nobody asserted
anything. What no test notices has *survived*.
"""

from __future__ import annotations

import compileall
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.mutation.operators import PACKAGE, ROOT, Mutant

Outcome = Literal["killed", "crashed", "survived"]

PROCESSOR_SECONDS = 120
"""How long one child may compute: a loop that never ends is stopped by the operating system."""

HEAVY = ("hypothesis", "numpy", "pyarrow", "pyarrow.parquet", "duckdb", "sqlalchemy", "mpmath", "scipy.stats")
"""Imported once, before children are forked: they are the same for every mutant."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, the test that showed it, and what that test said."""

    outcome: Outcome
    test: str = ""
    said: str = ""


class Overlay:
    """A copy of the package in a folder of its own, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "unlisted", ignore=shutil.ignore_patterns("__pycache__"))
        # Children write no byte code, so that none of a mutant is ever read for the package itself.
        compileall.compile_dir(folder, quiet=2)

    @contextmanager
    def changed(self, file: str, source: bytes) -> Iterator[None]:
        """Have one file changed inside the context."""
        path = self.folder / "unlisted" / file
        whole = path.read_bytes()
        path.write_bytes(source)
        try:
            yield
        finally:
            path.write_bytes(whole)

    def run(self, tests: list[str]) -> list[dict[str, str]]:
        """Run tests on the copy in a child; return the failures, each with how it failed and what it said.

        A child that dies or does not end is a failure too.
        """
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _in_child(self.folder, tests, write)
        os.close(write)
        with os.fdopen(read) as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        with_children(child)
        found: list[dict[str, str]] = (
            json.loads(told) if told else [{"test": "", "how": "crash", "said": "it died"}]
        )
        return found


def with_children(group: int) -> None:
    """End what a child has started and left behind."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


@contextmanager
def overlay() -> Iterator[Overlay]:
    """Make a copy of the package that is gone afterwards."""
    for name in HEAVY:
        __import__(name)
    with tempfile.TemporaryDirectory(prefix="unlisted-mutants-") as folder:
        yield Overlay(Path(folder))


def _in_child(folder: Path, tests: list[str], write: int) -> None:
    """Run pytest on the copy and say which tests failed. Never returns."""
    told: list[dict[str, str]] = [{"test": "", "how": "crash", "said": "it did not come to an end"}]
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{ROOT}"
        sys.path[:0] = [str(folder), str(ROOT)]
        os.chdir(ROOT)
        # A verdict must be the same tomorrow.
        os.environ["UNLISTED_SAME_EXAMPLES"] = "1"
        failures = _Failures()
        # What was imported before the fork cannot be rewritten any more, and need not be.
        quiet_about = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long", *quiet_about]
        pytest.main([*options, *tests], plugins=[failures])
        told = failures.found
    except BaseException as failure:
        told = [{"test": "", "how": "crash", "said": repr(failure)}]
    finally:
        os.write(write, json.dumps(told).encode())
        os._exit(0)


class _Failures:
    """A pytest plugin that keeps what failed, and whether it was an assertion."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        from tests.mutation.covering import is_too_slow

        items[:] = [one for one in items if not is_too_slow(one)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if report.failed and call.excinfo is not None:
            said = str(call.excinfo.value).strip().split("\n")[0][:200]
            self.found.append({"test": item.nodeid, "how": how_it_failed(call.excinfo.value), "said": said})
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.found.append({"test": report.nodeid, "how": "crash", "said": "it cannot be imported"})


def how_it_failed(failure: BaseException) -> str:
    """Return whether something was asserted: by an assertion, a refusal that did not come, or one that did."""
    if isinstance(failure, AssertionError | pytest.fail.Exception):
        return "assertion"
    if isinstance(failure, ExceptionGroup):
        return "assertion" if all(how_it_failed(one) == "assertion" for one in failure.exceptions) else "crash"
    ours = any(base.__module__ == "unlisted.errors" for base in type(failure).__mro__)
    return "refusal" if ours else "crash"


def tried(mutant: Mutant, tests: list[str], on: Overlay) -> Verdict:
    """Try a mutant on tests, the first few together, then the rest; stop at the first assertion."""
    source = mutant.applied()
    if source is None:
        return Verdict("crashed", said="it is no Python, or says the same")
    crashed = ""
    with on.changed(mutant.file, source):
        for some in (tests[:6], tests[6:24]):
            left = list(some)
            while left:
                failures = on.run(left)
                if not failures:
                    break
                first = failures[0]
                if first["how"] in ("assertion", "refusal"):
                    return Verdict("killed", first["test"], first["said"])
                crashed = first["said"]
                place = first["test"].partition("[")[0]
                if place not in left or len(left) == 1:
                    break
                # What only crashed asserted nothing: the tests after it may.
                left = left[left.index(place) + 1 :]
    return Verdict("crashed", said=crashed) if crashed else Verdict("survived")
