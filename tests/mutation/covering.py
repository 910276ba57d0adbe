"""Which tests run which block of code: every block of a copy of the package notes when it is entered.

The copy is the package with a probe at the beginning of every function, branch and loop. So a mutant can be tried
on the few tests that reach its block, quickest first. Nothing of this needs a tracer, and tests are hardly slower.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.mutation.operators import PACKAGE, ROOT, Mutant, guarded_files

FOLDER = ROOT / ".venvs" / "mutants"
KEPT = FOLDER / "covering.json"
PROBES = "unlisted_probes"
WRITES_TO = "UNLISTED_COVERING"

SUITES = {
    "privacy": ("tests/privacy", "tests/mechanisms", "tests/noise"),
    "noise": ("tests/noise", "tests/privacy", "tests/mechanisms"),
    "mechanisms": ("tests/mechanisms", "tests/conformance"),
    "counts": ("tests/counts", "tests/mechanisms", "tests/conformance"),
    "tables": ("tests/tables", "tests/hostile"),
    "ledger": ("tests/ledger",),
    "streams": ("tests/streams",),
    "server": ("tests/server",),
}
"""Where the tests of each package are; whichever of its tests reach a block are the ones that try it."""

ALL_SUITES = tuple(dict.fromkeys(suite for suites in SUITES.values() for suite in suites))

SLOW_SERVICES = ("spark", "chromium", "cluster")
"""Tests that need these are left out: starting one takes longer than a mutant should."""

Block = tuple[int, int]
"""The first and last line of a block."""


def instrumented(file: str, first: int) -> tuple[str, list[Block]]:
    """Return a file with a probe in every block, numbered from `first`, and the lines of the blocks."""
    tree = ast.parse((PACKAGE / file).read_text("utf-8"))
    blocks: list[Block] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _probe(node.body, node, first, blocks)
            for inner in ast.walk(node):
                for part in ("body", "orelse", "finalbody"):
                    found = getattr(inner, part, None)
                    if inner is not node and isinstance(found, list) and found and _may_hold_a_probe(inner):
                        _probe(found, found[0], first, blocks)
    after = next(
        (at for at, node in enumerate(tree.body) if not _must_come_first(node)),
        len(tree.body),
    )
    tree.body.insert(after, ast.parse(f"from {PROBES} import hits as __hits__").body[0])
    return ast.unparse(ast.fix_missing_locations(tree)), blocks


def _may_hold_a_probe(node: ast.AST) -> bool:
    return isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.ExceptHandler)


def _must_come_first(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _probe(body: list[ast.stmt], at: ast.AST, first: int, blocks: list[Block]) -> None:
    if body and _is_probe(body[0]):
        return
    start: int = at.lineno  # type: ignore[attr-defined]
    end = max(one.end_lineno or one.lineno for one in body)
    probe = ast.parse(f"__hits__.add({first + len(blocks)})").body[0]
    after = 1 if _must_come_first(body[0]) else 0
    body.insert(after, probe)
    blocks.append((start, end))


def _is_probe(node: ast.stmt) -> bool:
    return "__hits__" in ast.unparse(node)


def write_copy(folder: Path) -> dict[str, list[tuple[int, Block]]]:
    """Write an instrumented copy of the package; return the numbers and lines of the blocks of each file."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PACKAGE, folder / "unlisted", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / f"{PROBES}.py").write_text('"""The blocks that were entered."""\n\nhits: set[int] = set()\n')
    known: dict[str, list[tuple[int, Block]]] = {}
    first = 0
    for file in guarded_files():
        text, blocks = instrumented(file, first)
        (folder / "unlisted" / file).write_text(text, encoding="utf-8")
        known[file] = [(first + at, block) for at, block in enumerate(blocks)]
        first += len(blocks)
    return known


class Noted:
    """A pytest plugin that notes which blocks every test enters, and how long it takes."""

    def __init__(self) -> None:
        from unlisted_probes import hits

        self._hits: set[int] = hits
        self.tests: dict[str, dict[str, Any]] = defaultdict(lambda: {"seconds": 0.0, "hits": set(), "good": True})

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [one for one in items if not is_too_slow(one)]
        config.hook.pytest_deselected(items=[one for one in items if is_too_slow(one)])
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._hits.clear()
        started = time.perf_counter()
        try:
            return (yield)
        finally:
            noted = self.tests[base_name(item.nodeid)]
            noted["seconds"] += time.perf_counter() - started
            noted["hits"] |= self._hits

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.skipped:
            self.tests[base_name(report.nodeid)]["good"] = False

    def pytest_sessionfinish(self) -> None:
        found = {
            name: {"seconds": round(noted["seconds"], 3), "hits": sorted(noted["hits"])}
            for name, noted in self.tests.items()
            if noted["good"]
        }
        Path(os.environ[WRITES_TO]).write_text(json.dumps(found), encoding="utf-8")


def is_too_slow(item: pytest.Item) -> bool:
    """Return whether a test is marked long, or needs a service that takes long to start."""
    needed = " ".join(getattr(item, "fixturenames", ()))
    own = item.nodeid.startswith("tests/server")
    services = SLOW_SERVICES if own else (*SLOW_SERVICES, "postgres")
    return item.get_closest_marker("long") is not None or any(
        one in needed or one in item.nodeid for one in services
    )


def base_name(nodeid: str) -> str:
    """Return the name of a test without its parameters."""
    return nodeid.partition("[")[0]


def pytest_configure(config: pytest.Config) -> None:
    """Start noting, where this module is given to pytest as a plugin."""
    if WRITES_TO in os.environ:
        config.pluginmanager.register(Noted())


def measure(suites: tuple[str, ...] = ALL_SUITES) -> None:
    """Run the tests on the copy, suite by suite, and keep what each of them enters."""
    copy = FOLDER / "copy"
    known = write_copy(copy)
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {"tests": {}}
    tests = {name: noted for name, noted in kept["tests"].items() if not name.startswith(suites)}
    for suite in suites:
        noted = FOLDER / "noted.json"
        noted.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}",
            WRITES_TO: str(noted),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.covering", "-p", "no:cacheprovider"]
        subprocess.run([*command, "-m", "not long", suite], cwd=ROOT, env=environment, check=False)
        if noted.exists():
            tests |= json.loads(noted.read_text("utf-8"))
            FOLDER.mkdir(parents=True, exist_ok=True)
            KEPT.write_text(json.dumps({"blocks": known, "tests": tests}), encoding="utf-8")


class Covering:
    """What was measured: which tests reach a mutant."""

    def __init__(self) -> None:
        kept = json.loads(KEPT.read_text("utf-8"))
        self._blocks: dict[str, list[tuple[int, Block]]] = kept["blocks"]
        self._seconds = {name: noted["seconds"] for name, noted in kept["tests"].items()}
        self._tests: dict[int, list[str]] = defaultdict(list)
        for name, noted in kept["tests"].items():
            for hit in noted["hits"]:
                self._tests[hit].append(name)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that enter the innermost block around a mutant, quickest first.

        What stands outside of functions is tried on the quickest tests of every block of its file.
        """
        blocks = self._blocks.get(mutant.file, [])
        around = [(end - start, at) for at, (start, end) in blocks if start <= mutant.line <= end]
        if around:
            names = self._tests[min(around)[1]]
        else:
            names = [min(self._tests[at], key=self._seconds.__getitem__) for at, _ in blocks if self._tests[at]]
        own = f"tests/{mutant.package}/"
        return sorted(set(names), key=lambda name: (not name.startswith(own), self._seconds[name]))

    def seconds(self, name: str) -> float:
        """Return how long a test takes, with all its parameters."""
        return self._seconds[name]


if __name__ == "__main__":
    measure(tuple(sys.argv[1:]) or ALL_SUITES)
