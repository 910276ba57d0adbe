"""`unlisted demo`: the whole story, on invented people."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest
from tests.cli.shell import Done, unlisted
from tests.tables.fixtures.engines import installed

from unlisted.demo.searches import sensitive


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    installed("altair")
    chart = tmp_path_factory.mktemp("demo") / "demo.svg"
    return unlisted("demo", "--chart", chart), chart


def parts(text: str) -> list[str]:
    """The numbered parts of the story; what comes before the first is part 0."""
    found, current = [], ""
    for line in text.splitlines(keepends=True):
        if line[:3] in ("1. ", "2. ", "3. ", "4. "):
            found.append(current)
            current = ""
        current += line
    return [*found, current]


def test_it_runs_to_its_end(told: tuple[Done, Path]) -> None:
    done, chart = told
    assert done.code == 0
    assert done.said == ""
    assert len(parts(done.text)) == 5
    assert chart.read_bytes().startswith(b"<svg")
    assert str(chart) in done.text


def test_it_says_that_everything_is_invented(told: tuple[Done, Path]) -> None:
    assert "All of them are invented." in parts(told[0].text)[0]


def test_it_shows_plan_release_what_was_held_back_and_a_ranking(told: tuple[Done, Path]) -> None:
    _, plan, release, held_back, ranking = parts(told[0].text)
    assert "Threshold: 98" in plan
    assert "carbonara" in release
    assert "made by one person" in held_back
    assert "Sensitive searches in the release: 0." in held_back
    assert "1. carbonara" in ranking


def test_what_must_never_be_published_is_only_shown_as_held_back(told: tuple[Done, Path]) -> None:
    done, chart = told
    before, plan, release, held_back, ranking = parts(done.text)
    for query in sensitive():
        assert query not in before + plan + release + ranking
        assert query not in chart.read_text()
    assert any(query in held_back for query in sensitive())


def test_without_the_extra_for_charts_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("altair", "vl_convert"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    done = unlisted("demo", "--chart", tmp_path / "demo.svg")
    assert done.code == 0
    assert 'pip install "unlisted[charts]"' in done.text
    assert not (tmp_path / "demo.svg").exists()


def test_a_chart_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    done = unlisted("demo", "--chart", tmp_path / "nowhere" / "demo.svg")
    assert done.code == 2
    assert "--chart = " in done.said
    assert done.data == b""
