"""`import unlisted` is quick and says exactly what is public."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
from tests.architecture.source import REPOSITORY

import unlisted

ONLY_WHEN_USED = (
    "altair",
    "fastapi",
    "ibis",
    "mpmath",
    "pandas",
    "polars",
    "pyspark",
    "rich",
    "scipy",
    "sqlalchemy",
    "sqlglot",
    "typer",
)
"""Heavy or optional: imported by what needs them, when it needs them."""


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """The top-level modules that a new process has after `import unlisted`."""
    program = "import sys, unlisted; print('\\n'.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


@pytest.mark.parametrize("name", ONLY_WHEN_USED)
def test_importing_unlisted_does_not_import(name: str, loaded: frozenset[str]) -> None:
    assert name not in loaded


def test_what_is_needed_at_once_is_seen(loaded: frozenset[str]) -> None:
    assert {"unlisted", "numpy", "pyarrow"} <= loaded


def test_public_names_are_what_all_says() -> None:
    """What is bound at the front door, now or on first use, is public (modules apart), and the other way round."""
    bound = {
        name
        for name, value in vars(unlisted).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert sorted(unlisted.__all__) == sorted(bound | unlisted._LATER.keys())


def test_public_names_are_sorted_once_each_and_documented() -> None:
    assert list(unlisted.__all__) == sorted(set(unlisted.__all__))
    undocumented = [name for name in unlisted.__all__ if not (getattr(unlisted, name).__doc__ or "").strip()]
    assert undocumented == []


def test_public_names_are_in_the_reference() -> None:
    pages = sorted((REPOSITORY / "docs" / "api").glob("**/*.md"))
    text = "\n".join(page.read_text("utf-8") for page in pages)
    assert not pages or [name for name in unlisted.__all__ if name not in text] == []


def test_the_version_is_a_version() -> None:
    assert [part.isdigit() for part in unlisted.__version__.split(".")[:2]] == [True, True]


def test_looking_around_shows_what_is_public_and_nothing_else() -> None:
    shown = [name for name in dir(unlisted) if not name.startswith("__")]
    assert shown == unlisted.__all__
    assert {"Ledger", "Stream", "connect"} <= set(shown)


WITHOUT_EXTRAS = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"sqlalchemy", "altair", "polars", "pandas", "fastapi"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import unlisted as ul
from unlisted import *
assert hasattr(ul, "Ledger") and hasattr(ul, "Stream") and hasattr(ul, "connect")
for use in (lambda: ul.Ledger("x.db"), lambda: ul.counts(["a"], [9], items_per_user=1).histogram(
        budget=ul.Budget(epsilon=1, delta=1e-8)).chart()):
    try:
        use()
    except ImportError as missing:
        assert isinstance(missing, ul.MissingExtraError)
        print(missing)
"""


def test_a_missing_extra_is_an_import_error_that_names_the_command() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ledger, chart = done.stdout.splitlines()
    assert ledger == 'A ledger needs SQLAlchemy, which is not installed. Run: pip install "unlisted[ledger]"'
    assert chart == 'A chart needs Altair, which is not installed. Run: pip install "unlisted[charts]"'
