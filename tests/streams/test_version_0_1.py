"""Streams that version 0.1 made open, show what they showed, and go on as that version would have.

`version_0_1/` holds two folders that the first release wrote after a few rounds, and in `next.json` what it
released after one more. Noise is a function of key, label, node and contents, so every later version must release
the same.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import unlisted as ul

MADE = Path(__file__).parent / "version_0_1"
NEXT = MADE / "next.json"
STREAMS = ("events", "users")


@pytest.fixture(params=STREAMS)
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A stream of the first release, to go on with."""
    copy = Path(shutil.copytree(MADE / request.param, tmp_path / request.param))
    # A repository does not keep who may read a file.
    (copy / "key").chmod(0o600)
    return copy


def rows(users: int, first: int) -> pa.Table:
    """Return the rows of a round: users with one or two items, and one item that is one user's alone."""
    pairs = [(first + at, ("soup", "bread", "curry")[at % 3]) for at in range(users)]
    pairs += [(first + at, "tea") for at in range(0, users, 2)] + [(1, "only me")]
    return pa.table({"user": [user for user, _ in pairs], "item": [item for _, item in pairs]})


def gone_on(stream: ul.Stream) -> list[dict[str, Any]]:
    """Push rounds until one more release is due, and return its rows."""
    found = None
    while found is None:
        found = stream.push(rows(500, 9000))
    return found.rows


def test_it_opens_and_its_releases_are_there(copied: Path) -> None:
    stream = ul.Stream.open(copied)
    said = json.loads(NEXT.read_text("utf-8"))[copied.name]
    assert stream.round == said["round"]
    assert {str(number): release.rows for number, release in stream.releases()} == said["releases"]


def test_it_goes_on_with_the_same_noise(copied: Path) -> None:
    assert gone_on(ul.Stream.open(copied)) == json.loads(NEXT.read_text("utf-8"))[copied.name]["next"]


def test_a_round_that_was_taken_in_is_known(copied: Path) -> None:
    stream = ul.Stream.open(copied)
    with pytest.raises(ul.InvalidArgumentError, match="other contents"):
        stream.push(rows(3, 0), number=stream.round)


def test_its_next_life_knows_what_it_has_shown(copied: Path, tmp_path: Path) -> None:
    stream = ul.Stream.open(copied)
    following = stream.renew(tmp_path / "next", budget=ul.Budget(epsilon=1, delta=1e-8), noise="correlated")
    known = set(following._folder.known().to_pylist())
    assert {row["item"] for row in stream.export().rows} == known
    assert "only me" not in known
    assert (following.settings.noise, following.round) == ("correlated", 0)
