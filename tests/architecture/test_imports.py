"""Data flows one way: a module may import those before it, never one after it."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.source import PACKAGE, imported, modules, named

import unlisted

ORDER = (
    "errors",
    "privacy",
    "noise",
    "counts",
    "mechanisms",
    "tables",
    "release",
    "query",
    "ledger",
    "streams",
    "audit",
    "demo",
    "server",
    "cli",
)
"""Each may import those before it. A new top-level module or package takes its place here first."""

FRONT = ("__init__", "__main__")
"""The two front doors. They stand at the end, and nothing inside the house goes through them."""

HANDED_OVER = {("release", "query"), ("release", "streams")}
"""Charts are of a release, a plan or a stream, which hand themselves over: the drawing needs only their types."""


def top_level(dotted_name: str) -> str:
    """Return the top-level module or package that a name inside `unlisted` belongs to."""
    parts = dotted_name.split(".")
    if len(parts) == 1 or not _exists(parts[1]):
        return "__init__"
    return parts[1]


def violations(path: Path) -> list[str]:
    here = named(path).split("/")[0].removesuffix(".py")
    found = []
    for name in imported(path):
        if name.split(".")[0] != "unlisted" or here in FRONT or name == "unlisted.__version__":
            continue
        there = top_level(name)
        if there != here and (here, there) not in HANDED_OVER and not _before(there, here):
            found.append(f"{named(path)} imports {name}")
    return found


def test_a_module_imports_only_what_stands_before_it() -> None:
    assert [violation for path in modules() for violation in violations(path)] == []


def test_every_top_level_module_has_its_place() -> None:
    files, packages = PACKAGE.glob("*.py"), PACKAGE.glob("*/__init__.py")
    there = {path.stem for path in files} | {path.parent.name for path in packages}
    assert there <= {*ORDER, *FRONT}, "give the new module its place in ORDER"


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in modules()}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_an_import_backwards_is_found() -> None:
    # The check itself: each of these is found where it stands, whatever way it is written.
    assert not _before("mechanisms", "noise")
    assert not _before("cli", "query")
    assert not _before("unheard_of", "cli")
    assert _before("errors", "server")
    assert top_level("unlisted.tables.engines.spark.SparkEngine") == "tables"
    assert top_level("unlisted.Budget") == "__init__"
    exceptions = {(named(path), name) for path in modules() for name in imported(path)}
    assert ("release/release.py", "unlisted.release.charts.release_chart") in exceptions, (
        "imports inside functions are seen"
    )
    assert ("release/charts/curves.py", "unlisted.query.plan.Plan") in exceptions, (
        "imports under TYPE_CHECKING are seen"
    )


def test_the_front_door_shows_the_house_in_that_order() -> None:
    """The docstring of `unlisted` is the shortest map there is: it names what exists, in the order of imports."""
    lines = (unlisted.__doc__ or "").splitlines()
    shown = [line.split()[0].rstrip("/") for line in lines if line.startswith("    ")]
    assert shown == [name for name in ORDER if name in shown]
    assert len(shown) > 10
    assert [name for name in shown if not _exists(name)] == []


def test_an_engine_is_imported_only_by_its_own_files() -> None:
    """Spark, Ibis, PostgreSQL's driver and DuckDB are each known only where they are named."""
    engines = {"pyspark": "spark", "ibis": "ibis", "psycopg": "postgres", "duckdb": "duckdb"}
    strangers = [
        f"{named(path)} imports {name}"
        for path in modules()
        for name in imported(path)
        if (engine := engines.get(name.split(".")[0])) and engine not in (path.stem, path.parent.name)
    ]
    assert strangers == []


def _before(there: str, here: str) -> bool:
    return there in ORDER and here in ORDER and ORDER.index(there) < ORDER.index(here)


def _exists(name: str) -> bool:
    return (PACKAGE / f"{name}.py").exists() or (PACKAGE / name / "__init__.py").exists()
