"""The pictures: well formed, drawn by their script, and without anything that must not be published."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.docs.scripts import DOCS, run_script

from unlisted.demo.searches import sensitive

PICTURES = ("chance.svg", "demo.svg")
FROM_REAL_DATA = ("stream.svg",)
"""Drawn by another script, from a table that is not part of the project."""
OF_MEASUREMENTS = ("same_promise.svg", "scaling-memory.svg", "scaling-time.svg", "speed.svg")
"""Drawn by `bench/scale/growth.py`, from what it measured."""


def words_of(picture: Path) -> set[str]:
    return {text.strip() for text in ElementTree.parse(picture).getroot().itertext() if text.strip()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    done = run_script("make_images.py", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def test_the_script_draws_all_pictures_and_no_other(drawn: Path) -> None:
    assert sorted(path.name for path in drawn.iterdir()) == sorted(PICTURES)
    assert sorted(path.name for path in (DOCS / "images").iterdir()) == sorted(
        PICTURES + FROM_REAL_DATA + OF_MEASUREMENTS
    )


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_say_what_they_should_and_nothing_sensitive(drawn: Path, name: str) -> None:
    expected = {"chance.svg": "chance to appear", "demo.svg": "carbonara"}[name]
    for picture in (drawn / name, DOCS / "images" / name):
        words = words_of(picture)
        assert expected in words
        assert words & sensitive() == set()


def test_the_picture_of_the_plan_is_up_to_date(drawn: Path) -> None:
    assert words_of(drawn / "chance.svg") == words_of(DOCS / "images" / "chance.svg")
