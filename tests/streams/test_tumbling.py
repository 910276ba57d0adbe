"""Windows that count anew: fresh noise, fresh labels, one window's price for events, so many for users."""

from __future__ import annotations

import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.streams.brooks import brook, quiet_brook, rows_of, shown

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.streams.stream import Stream

BUDGET = ul.Budget(epsilon=1, delta="1e-8")


def test_every_window_counts_anew_and_survives_reopening(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", window=3)
    for number in range(1, 9):
        one = {"a": 10, f"of window {(number - 1) // 3}": 20}
        release = stream.push(one)
        within = (number - 1) % 3 + 1
        assert shown(release) == [(f"of window {(number - 1) // 3}", 20 * within), ("a", 10 * within)]
        assert stream.round == number == release.plan["round"]
        if number in (2, 3, 4):
            stream = Stream.open(tmp_path / "s")
    assert shown(stream.push({"a": 10, "of window 0": 20}, number=1)) == [("of window 0", 20), ("a", 10)]
    assert shown(stream.last(1)) == [("of window 2", 20), ("a", 10)]
    assert shown(stream.last(5)) == shown(stream.release(8)), "a window ends where the stream's own begins"


def test_gaps_may_cross_windows(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", window=3, unit="user", items_per_user=2, windows_per_user=2, threshold=1)
    everybody = rows_of(*[(user, "a") for user in range(9)])
    assert shown(stream.push(everybody, number=2, fill_gaps=True)) == [("a", 9)]
    assert shown(stream.push(everybody, number=8, fill_gaps=True)) == [("a", 9)]
    assert [len(one) for _, one in Stream.open(tmp_path / "s").releases()] == [0, 1, 1, 0, 0, 0, 0, 1]


def test_windows_that_are_alike_have_noise_of_their_own(tmp_path: Path) -> None:
    """Else two equal days would show the same numbers, and tell that nothing changed between them."""
    for noise in ("correlated", "tree"):
        stream = brook(tmp_path / noise, noise=noise, window=2, variance=Fraction(10**4), threshold=1)
        labels = {f"label {i}": 5000 for i in range(30)}
        first, _, second, _ = (dict(shown(stream.push(labels))) for _ in range(4))
        assert sum(first[label] == second[label] for label in labels) < 6


def test_events_pay_for_one_window_and_users_for_as_many_as_they_are_in(tmp_path: Path) -> None:
    day = {"budget": BUDGET, "round_length": "1 hour"}
    year = Stream.create(tmp_path / "y", rounds=8760, unit="event", items_per_event=3, window="1 day", **day)
    alone = Stream.create(tmp_path / "d", rounds=24, unit="event", items_per_event=3, **day)
    assert (year.settings.window, year.settings.mechanism) == (24, alone.settings.mechanism)
    assert year.guarantee == alone.guarantee
    users = {"rounds": 8760, "unit": "user", "items_per_user": 3, "window": "1 day", **day}
    one, five = (Stream.create(tmp_path / f"{n}", windows_per_user=n, **users) for n in (1, 5))
    assert one.guarantee == alone.guarantee
    assert BUDGET.allows(five.guarantee)
    mechanism = five.settings.mechanism
    single = type(mechanism)(mechanism.law, mechanism.recursion, mechanism.thresholds, 24, mechanism.sensitivity)
    assert mechanism.price().rho == 5 * single.price().rho
    assert 4.99 * single.failure() < mechanism.failure() <= 5 * single.failure() * (1 + Fraction(1, 10**6))
    assert "each of at most 5 windows" in repr(five)


def test_a_user_is_in_so_many_windows_with_so_many_items(tmp_path: Path) -> None:
    """With user 0 and without, under one key: in at most two windows, at most two labels, by one each."""
    paths = [tmp_path / "with", tmp_path / "without"]
    quiet_brook(paths[0], window=2, unit="user", items_per_user=2, windows_per_user=2, threshold=1)
    shutil.copytree(*paths)
    streams = [Stream.open(path) for path in paths]
    differing: list[Counter[str]] = []
    for number in range(1, 13):
        pairs = [(user, item) for user in range(6) for item in "abcde"[: 1 + number % 5] if (user + number) % 3]
        pairs += [(0, item) for item in "vwxyz"]
        totals = []
        for at, stream in enumerate(streams):
            stream.push(rows_of(*[pair for pair in pairs if at == 0 or pair[0] != 0]))
            running = stream._folder.saved(stream.settings, stream._folder.key()).running
            names = running.labels.take(running.totals.argsort()).to_pylist()
            totals.append(Counter(dict(zip(names, sorted(running.totals.tolist()), strict=True))))
            streams[at] = Stream.open(paths[at])
        differing.append(totals[0] - totals[1])
        assert not totals[1] - totals[0]
    ends = [differing[last] for last in range(1, 12, 2)]
    assert [one.total() for one in ends] == [2, 2, 0, 0, 0, 0]
    assert all(count == 1 for one in differing for count in one.values())


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ({"window": "1 day"}, "round_length is missing.+window of time"),
        ({"window": "90 minutes", "round_length": "1 hour"}, "window = '90 minutes' .+ whole number of rounds"),
        ({"window": "a while"}, "window = 'a while'"),
        ({"window": 0}, "window = 0"),
        ({"window": 9}, "window = 9 .+ at most 8"),
        ({"window": 3, "release_every": 2}, "window = 3 .+ divides"),
        ({"window": 2, "windows_per_user": 2}, "windows_per_user = 2 .+ left out"),
        ({"windows_per_user": 2}, "windows_per_user = 2 .+ left out"),
        ({"round_length": "0.5 s"}, "round_length = '0.5 s'"),
        ({"unit": "user", "window": 2}, "windows_per_user is missing"),
        ({"unit": "user", "window": 2, "windows_per_user": 2, "rounds_per_user": 2}, "rounds_per_user = 2"),
        ({"unit": "user", "window": 2, "windows_per_user": 2, "period": 2, "per_period": 1}, "period = 2"),
    ],
    ids=str,
)
def test_refusals(tmp_path: Path, said: dict[str, Any], refused: str) -> None:
    bound = {"items_per_event": 2}
    if said.get("unit") == "user" and "rounds_per_user" not in said:
        bound = {"items_per_user": 2}
    with pytest.raises(InvalidArgumentError, match=refused):
        Stream.create(tmp_path / "s", **{"rounds": 8, "unit": "event", "budget": BUDGET} | bound | said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("said", "length"), [("60 minutes", "1 hour"), ("7d", "1 week"), ("90s", "90 seconds")])
def test_a_length_is_said_in_one_way(tmp_path: Path, said: str, length: str) -> None:
    stream = Stream.create(
        tmp_path / "s", rounds=8, unit="event", items_per_event=1, budget=BUDGET, round_length=said, window="8"
    )
    assert (stream.settings.round_length, stream.settings.window) == (length, 8)
    assert stream.settings.protected == f"user in {length}"
