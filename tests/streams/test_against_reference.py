"""A stream in its folder shows what the plain algorithm shows, however often it is closed and opened between."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.continual import correlated_reference
from tests.mechanisms.continual.binary_reference import Round, plainly
from tests.streams.brooks import brook, shown

from unlisted.streams.folder import Folder
from unlisted.streams.stream import Stream

REFERENCES = {"tree": plainly, "correlated": correlated_reference.plainly}
STREAMS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "", "é", "a\x00"]), st.integers(0, 5), max_size=4), max_size=12
)


@settings(max_examples=40)
@given(
    st.sampled_from([*REFERENCES]),
    STREAMS,
    st.sampled_from(["live", "sticky"]),
    st.integers(1, 3),
    st.sets(st.integers(1, 12)),
)
def test_a_stream_shows_what_the_plain_algorithm_shows(
    noise: str, rounds: list[Round], display: str, every: int, reopened: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "brook"
        stream, answers = brook(path, noise=noise, display=display, release_every=every), []
        for number, one in enumerate(rounds, start=1):
            release = stream.push(one)
            if number % every == 0:
                answers.append(shown(release))
            else:
                assert release is None
            if number in reopened:
                stream = Stream.open(path)
        assert answers == REFERENCES[noise](stream.settings.mechanism, rounds, Folder(path).key())
        assert [shown(one) for _, one in Stream.open(path).releases()] == answers


@pytest.mark.parametrize("noise", [*REFERENCES])
@pytest.mark.parametrize("display", ["live", "sticky"])
def test_labels_that_vanish_and_come_back(tmp_path: Path, display: str, noise: str) -> None:
    rounds = [{"a": 2, "b": 1}, {}, {"c": 90}, {}, {"b": 30}, {"a": 1}, {}, {}, {"b": 1, "a": 70}, {}]
    path = tmp_path / "brook"
    brook(path, display=display, noise=noise)
    answers = [shown(Stream.open(path).push(one)) for one in rounds]
    stream = Stream.open(path)
    assert answers == REFERENCES[noise](stream.settings.mechanism, rounds, Folder(path).key())
    assert {"a", "b", "c"} <= {label for answer in answers for label, _ in answer}
