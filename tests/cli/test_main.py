"""The command itself: its version, its help, its completion, and what it does not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.shell import finished, unlisted
from tests.fixtures.kitchen import BOUND, SHELL

import unlisted as ul

VERBS = ("histogram", "top", "top-histogram", "preview", "demo")
ANSWERING = (("histogram",), ("top",), ("top-histogram",))
PREVIEWED = tuple(("preview", *verb) for verb in ANSWERING)


def test_the_version_is_the_packages() -> None:
    assert unlisted("--version").text == f"{ul.__version__}\n"
    assert finished("--version").text == f"{ul.__version__}\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_the_verbs(flag: str) -> None:
    done = unlisted(flag)
    assert done.code == 0
    for verb in VERBS:
        assert f" {verb} " in done.text


@pytest.mark.parametrize("verb", [*ANSWERING, *PREVIEWED])
def test_every_verb_that_answers_takes_the_same_options(verb: tuple[str, ...]) -> None:
    shown = unlisted(*verb, "-h").text
    for option in (
        *("--user", "--item", "--table", "--types", "--epsilon", "--rho", "--delta", "--where", "--count"),
        *("--rows-per-item", "--items-per-user", "--format", "--output", "--chart", "--receipt"),
    ):
        assert f"{option} " in shown, option
    particular = {
        "histogram": ("--noise",),
        "top": ("-k", "--fetch", "--counts", "--per-item-epsilon"),
        "top-histogram": ("--fetch", "--noise"),
    }
    assert all(f"{option} " in shown for option in particular[verb[-1]])
    assert ("SOURCE" in shown) == (verb[0] != "preview")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("unlisted ", {"histogram", "top", "top-histogram", "preview", "demo"}),
        ("unlisted hist", {"histogram"}),
        ("unlisted preview ", {"histogram", "top", "top-histogram"}),
        ("unlisted histogram --it", {"--item", "--items-per-user"}),
        ("unlisted histogram rows.csv --noise ", {"auto", "laplace", "gaussian"}),
        ("unlisted top rows.csv --format ", {"table", "json", "csv", "parquet"}),
    ],
)
def test_a_shell_completes_what_is_typed(typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    done = finished(_UNLISTED_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
    assert done.code == 0
    assert offered <= set(done.text.split())


def test_the_script_for_completion_is_shown() -> None:
    done = (
        finished("--show-completion", "bash")
        if "bash" in unlisted("--help").text
        else finished("--show-completion")
    )
    assert "_UNLISTED_COMPLETE" in done.text or done.code in (1, 2)


def test_a_small_question_imports_only_what_it_needs(rows: Path) -> None:
    """A histogram of a CSV file without a condition needs no parser, no data frames, no charts, no screen."""
    words = [str(word) for word in ("histogram", rows, *SHELL, "--items-per-user", BOUND, "--format", "csv")]
    program = (
        "import sys\n"
        "from unlisted.cli.main import application\n"
        f"application()({words!r}, standalone_mode=False)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {"duckdb", "pyarrow", "typer"} <= loaded, "what is needed is seen"
    heavy = {"sqlglot", "pandas", "polars", "altair", "ibis", "pyspark", "sqlalchemy", "fastapi", "scipy"}
    assert loaded & (heavy | {"mpmath", "rich", "vl_convert", "pydantic"}) == set()
    assert done.stdout.startswith("dish,count,low,high\n")


def test_an_answer_is_printed_where_the_screen_has_no_greek(rows: Path) -> None:
    done = finished("histogram", rows, *SHELL, "--items-per-user", BOUND, PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "soup" in done.text
    previewed = finished("preview", "top", "-k", 3, "--epsilon", 6, "--delta", "1e-9", PYTHONIOENCODING="ascii")
    assert previewed.code == 0
