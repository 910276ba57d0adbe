"""The tutorial as a notebook runs from top to bottom without a network, and shows what its prose says."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import altair
import pytest
from tests.docs.notebooks import Cell, Shown, cells_of, run
from tests.docs.scripts import DOCS

NOTEBOOK = DOCS / "tutorial.ipynb"
CELLS = cells_of(NOTEBOOK)
CODE = [cell for cell in CELLS if cell.kind == "code"]

# Names of XML's own languages look like addresses, and nobody fetches them.
FETCHED = re.compile(r"(?:src|href)\s*=|url\(\s*[\"']?https?:|@import|<script|<iframe|<link", re.IGNORECASE)


def offline(*_: object) -> NoReturn:
    raise OSError("a notebook of the documentation went for the network")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], dict[str, Shown]]]:
    """The notebook's names at its end, and what stands below each cell, by the cell's first line."""
    names: dict[str, Any] = {"__name__": "__main__"}
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patched, altair.renderers.enable("default"):
        patched.chdir(folder)
        patched.setattr(socket.socket, "connect", offline)
        patched.setattr(socket, "getaddrinfo", offline)
        shown = run(CELLS, names)
        yield names, {cell.source.splitlines()[0]: below for cell, below in zip(CODE, shown, strict=True)}
    assert list(folder.iterdir()) == [], "a notebook that is opened to read leaves no files behind"


def _below(shown: dict[str, Shown], begin: str) -> Shown:
    (found,) = (below for first, below in shown.items() if first.startswith(begin))
    return found


def test_nothing_that_could_go_stale_is_kept_in_it() -> None:
    assert len(CODE) > 8
    assert [cell.source for cell in CODE if cell.outputs] == []


def test_every_cell_shows_something(world: tuple[dict[str, Any], dict[str, Shown]]) -> None:
    _, shown = world
    assert [first for first, below in shown.items() if not (below.printed or below.drawn)] == []


def test_what_is_shown_fetches_nothing(world: tuple[dict[str, Any], dict[str, Shown]]) -> None:
    _, shown = world
    drawn = [below.drawn for below in shown.values() if below.drawn]
    assert len(drawn) > 5
    assert [found for one in drawn for found in FETCHED.findall(one)] == []


def test_a_question_asked_twice_is_charged_once(world: tuple[dict[str, Any], dict[str, Shown]]) -> None:
    names, shown = world
    assert "The same release: True" in _below(shown, "again =").printed
    assert names["session"].spent == 2
    assert len(names["session"].releases) == 2


def test_what_does_not_fit_is_refused_in_words(world: tuple[dict[str, Any], dict[str, Shown]]) -> None:
    _, shown = world
    refused = _below(shown, "try:")
    assert "ε" in refused.printed
    assert "2 of 3 spent" in refused.drawn


def test_the_answers_are_what_the_invented_people_typed(world: tuple[dict[str, Any], dict[str, Shown]]) -> None:
    names, shown = world
    assert "carbonara" in _below(shown, "release =").drawn
    assert "carbonara" in _below(shown, "winners =").drawn
    assert len(names["release"]) > 30
    assert "<svg" in _below(shown, "import altair").drawn
    assert f"{len(names['release'])}" in _below(shown, "print(release.statement").printed


def test_a_cell_that_fails_fails_the_run() -> None:
    with pytest.raises(ZeroDivisionError) as failed:
        run([Cell("markdown", "1 / 0", []), Cell("code", "x = 1\nx / 0", [])], {})
    assert "x / 0" in failed.value.__notes__[0]


def test_a_page_that_fetches_is_seen() -> None:
    assert FETCHED.search('<script src="https://cdn.example/vega.js">')
    assert FETCHED.search("background: url(https://cdn.example/a.png)")
    assert not FETCHED.search('<svg xmlns="http://www.w3.org/2000/svg">')


def test_links_lead_to_pages() -> None:
    links = [
        link for cell in CELLS if cell.kind == "markdown" for link in re.findall(r"\]\(([^)#]+)", cell.source)
    ]
    assert links
    assert [link for link in links if not (Path(DOCS) / link).is_file()] == []
