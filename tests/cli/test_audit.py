"""`unlisted audit`: a table, a page, and an exit code that a build can trust."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from unlisted.audit.mutants import catalogue, thresholds
from unlisted.audit.mutants.mutant import Mutant
from unlisted.audit.subject import Subject
from unlisted.audit.subjects.catalogue import OURS
from unlisted.cli.audit import audit
from unlisted.cli.exits import Verbs
from unlisted.noise.bits import Bits
from unlisted.privacy.guarantee import Guarantee

app = typer.Typer(cls=Verbs)
app.command("audit")(audit)
app.callback()(lambda: None)


def said(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["audit", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Subject]:
    """Put a ranking that promises half its δ among the mechanisms."""
    right = OURS["top-k"]()
    wrong = replace(right, name="broken", claim=Guarantee(right.claim.rho, right.claim.delta / 2))
    monkeypatch.setitem(OURS, "broken", lambda: wrong)
    return lambda: wrong


def test_a_table_of_the_mechanisms_that_were_named() -> None:
    code, text, problems = said("top-k", "top-k-all", "--trials", 2000)
    assert code == 0
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "mechanism"
    assert [line.split()[0] for line in lines[1:3]] == ["top-k", "top-k-all"]
    assert all(line.endswith("holds") for line in lines[1:3])
    # No bar where there is no terminal.
    assert problems == ""


def test_a_false_claim_leaves_with_one(broken: Callable[[], Subject]) -> None:
    code, text, _ = said("broken", "--trials", 0)
    assert code == 1
    assert "violated" in text


def test_json_is_for_programs() -> None:
    code, text, _ = said("top-k", "--trials", 0, "--format", "json")
    assert code == 0
    (only,) = json.loads(text)
    assert only["mechanism"] == "top-k"
    assert only["verdict"] == "holds"


def test_a_page_with_charts(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    target = tmp_path / "audit.html"
    code, _, problems = said("top-k", "--trials", 2000, "--html", target)
    assert code == 0
    assert "Wrote the report" in problems
    text = target.read_text("utf-8")
    assert "<svg" in text
    assert "currentColor" in text
    assert "<script" not in text


def test_an_unknown_mechanism_is_refused_with_those_there_are() -> None:
    code, _, problems = said("nope")
    assert code == 2
    assert "stream-live" in problems


@pytest.mark.parametrize("trials", [-1, 5])
def test_too_few_runs_are_refused_before_the_audit(trials: int) -> None:
    code, text, problems = said("top-k", f"--trials={trials}")
    assert code == 2
    assert "--trials" in problems
    assert text == ""


@pytest.mark.parametrize("name", ["audit.txt", "nowhere/audit.html"])
def test_a_page_that_cannot_be_written_is_refused_before_the_audit(tmp_path: Path, name: str) -> None:
    pytest.importorskip("altair")
    code, text, problems = said("top-k", "--html", tmp_path / name)
    assert code == 2
    assert "--html" in problems
    assert text == ""


def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        catalogue, "MUTANTS", (thresholds.at_least_for_above, thresholds.at_least_for_above_rarely)
    )
    code, text, problems = said("--mutants")
    assert code == 0
    assert [line.split()[-1] for line in text.splitlines()[1:]] == ["caught", "seen"]
    assert "2 mutants, 0 not caught" in problems


def test_a_mutant_that_nobody_catches_leaves_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_mutant(bits: Callable[[], Bits]) -> Mutant:
        made = thresholds.at_least_for_above(bits)
        return replace(made, subject=made.repaired)

    monkeypatch.setattr(catalogue, "MUTANTS", (no_mutant,))
    code, text, _ = said("--mutants", "--format", "json")
    assert code == 1
    assert json.loads(text)[0]["exact law"] == "not seen"
