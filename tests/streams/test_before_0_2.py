"""Streams with correlated noise, made before 0.2: they open, verify, show what they showed, and go on alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.streams.test_version_0_1 import rows

import unlisted as ul

MADE = Path(__file__).parent / "before_0_2"
SAID: dict[str, Any] = json.loads((MADE / "next.json").read_text("utf-8"))


@pytest.fixture(params=SAID)
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A stream to go on with."""
    copy = Path(shutil.copytree(MADE / request.param, tmp_path / request.param))
    # A repository does not keep who may read a file.
    (copy / "key").chmod(0o600)
    return copy


def test_it_opens_verifies_and_its_releases_are_there(copied: Path) -> None:
    stream, said = ul.Stream.open(copied), SAID[copied.name]
    assert stream.verify() == []
    assert stream.round == said["round"]
    assert {str(number): release.rows for number, release in stream.releases()} == said["releases"]


def test_it_goes_on_with_the_same_noise(copied: Path) -> None:
    release = ul.Stream.open(copied).push(rows(500, 9000))
    assert release is not None
    assert release.rows == SAID[copied.name]["next"]


def test_a_round_that_was_taken_in_is_known(copied: Path) -> None:
    stream = ul.Stream.open(copied)
    with pytest.raises(ul.InvalidArgumentError, match="other contents"):
        stream.push(rows(3, 0), number=stream.round)
