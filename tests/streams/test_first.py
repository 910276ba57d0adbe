"""Users who count once for each item, at most N items over the whole stream, whatever happens between rounds."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.streams.brooks import files_of, quiet_brook, rows_of, shown

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.tag_table import TagTable
from unlisted.streams.stream import Stream

BUDGET = ul.Budget(rho="0.5", delta="1e-6")
ROUNDS = st.lists(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abcdef")), max_size=30), max_size=6)


def people(path: Path, **changed: Any) -> Stream:
    """A stream of users who count once for each item, with hardly any noise and a threshold of 1."""
    return quiet_brook(path, **{"unit": "user", "items_per_user": 3, "threshold": 1, **changed})


def totals(stream: Stream) -> Counter[str]:
    """What was counted, shown or not."""
    running = stream._folder.saved(stream.settings, stream._folder.key()).running
    names = running.labels.take(np.arange(len(running.labels))).to_pylist()
    return Counter(dict(zip(names, running.totals.tolist(), strict=True)))


class TestCounting:
    @settings(max_examples=15)
    @given(ROUNDS, st.integers(1, 4), st.sampled_from([None, (2, 1), (3, 2)]), st.sets(st.integers(0, 5)))
    def test_one_user_changes_so_many_items_by_one_each_once(
        self, rounds: list[list[tuple[int, str]]], most: int, period: Any, reopened: set[int]
    ) -> None:
        """With user 0 and without, under one key: what differs differs by 1, stays so, and is within the bound."""
        limit = {} if period is None else {"period": period[0], "per_period": period[1]}
        with tempfile.TemporaryDirectory() as place:
            both = [Path(place) / name for name in ("with", "without")]
            people(both[0], items_per_user=most, rounds=8, **limit)
            shutil.copytree(*both)
            streams = [Stream.open(path) for path in both]
            changed: set[str] = set()
            for number, rows in enumerate(rounds):
                added = len(changed)
                streams[0].push(rows_of(*rows))
                streams[1].push(rows_of(*[pair for pair in rows if pair[0] != 0]))
                if number in reopened:
                    streams = [Stream.open(path) for path in both]
                one, other = map(totals, streams)
                differing = {label for label in one | other if one[label] != other[label]}
                assert all(one[label] - other[label] == 1 for label in differing)
                assert changed <= differing
                changed = differing
                assert period is None or len(changed) - added <= period[1]
            assert len(changed) <= most

    @settings(max_examples=8)
    @given(ROUNDS)
    def test_with_a_bound_that_nobody_reaches_it_counts_everybody_once(self, rounds: list) -> None:
        with tempfile.TemporaryDirectory() as place:
            stream = people(Path(place) / "s", items_per_user=6, rounds=8)
            for rows in rounds:
                stream.push(rows_of(*rows))
            assert +totals(stream) == Counter(item for _, item in {pair for rows in rounds for pair in rows})

    def test_a_user_with_too_many_items_keeps_as_many_as_allowed(self, tmp_path: Path) -> None:
        stream = people(tmp_path / "s", items_per_user=5)
        for items in ("abc", "abcde", "defghijk", "xyz"):
            stream.push(rows_of(*[(user, item) for user in range(50) for item in items]))
        found = totals(stream)
        assert found.total() == 250
        assert all(found[item] == 50 for item in "abcde")

    def test_who_is_full_is_fair_to_the_items(self, tmp_path: Path) -> None:
        """Of ten items each user counts for two: about as often for each of them."""
        stream = people(tmp_path / "s", items_per_user=2)
        stream.push(rows_of(*[(user, item) for user in range(2000) for item in "abcdefghij"]))
        assert all(320 < count < 480 for count in totals(stream).values())

    def test_a_period_leaves_room_for_later(self, tmp_path: Path) -> None:
        stream, found = people(tmp_path / "s", items_per_user=3, period=2, per_period=1), []
        for _ in range(7):
            stream.push(rows_of(*[(user, item) for user in range(10) for item in "abcdef"]))
            stream = Stream.open(tmp_path / "s")
            found.append(totals(stream).total())
        assert found == [10, 10, 20, 20, 30, 30, 30]

    def test_items_of_several_columns_and_minus_zero(self, tmp_path: Path) -> None:
        stream = people(tmp_path / "s", item=("x", "y"))
        rows = {"user": range(20), "x": [0.0, -0.0] * 10, "y": ["a"] * 20}
        for _ in range(2):
            release = stream.push(pa.table(rows))
        assert [(repr(row["x"]), row["y"], row["count"]) for row in release.rows] == [
            ("-0.0", "a", 10),
            ("0.0", "a", 10),
        ]

    @pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.date32()], ids=str)
    def test_other_types_of_items(self, tmp_path: Path, kind: pa.DataType) -> None:
        stream = people(tmp_path / "s")
        items = pa.array([1, 2] * 10).cast(pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        for _ in range(3):
            release = stream.push(pa.table({"user": range(20), "item": items}))
            stream = Stream.open(tmp_path / "s")
        assert [row["count"] for row in release.rows] == [10, 10]


class TestOnce:
    def test_a_round_brought_again_is_known(self, tmp_path: Path) -> None:
        stream = people(tmp_path / "s")
        every = [[(user, item) for user in range(30) for item in items] for items in ("ab", "bcd", "ad")]
        rounds = [rows_of(*pairs) for pairs in every]
        released = [stream.push(rows) for rows in rounds]
        before = files_of(tmp_path / "s")
        for number, rows in enumerate(rounds, start=1):
            again = Stream.open(tmp_path / "s").push(rows.take(list(reversed(range(len(rows))))), number=number)
            assert again.to_bytes() == released[number - 1].to_bytes()
            with pytest.raises(InvalidArgumentError, match="other contents"):
                stream.push(rows.slice(1), number=number)
        assert files_of(tmp_path / "s") == before

    def test_names_of_users_are_nowhere_in_the_folder(self, tmp_path: Path) -> None:
        stream = people(tmp_path / "s")
        for _ in range(2):
            stream.push(rows_of(*[(f"PLANTED {user}", "an item") for user in range(20)]))
        data = b"".join(files_of(tmp_path / "s").values())
        assert b"PLANTED" not in data

    def test_the_same_person_as_text_and_as_number(self, tmp_path: Path) -> None:
        stream = people(tmp_path / "s")
        stream.push(rows_of(*[(user, "a") for user in range(20)]))
        assert shown(stream.push(rows_of(*[(str(user), "a") for user in range(21)]))) == [("a", 21)]

    def test_counts_do_not_say_whose_they_are(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgumentError, match="Only rows say who has contributed"):
            people(tmp_path / "s").push({"a": 9})


class TestPrice:
    def test_it_costs_as_much_as_events_of_so_many_items(self, tmp_path: Path) -> None:
        asked = {"rounds": 100, "budget": BUDGET}
        users = Stream.create(tmp_path / "u", **asked, unit="user", items_per_user=4)
        events = Stream.create(tmp_path / "e", **asked, unit="event", items_per_event=4)
        assert users.settings.mechanism == events.settings.mechanism
        assert isinstance(users.settings.mechanism, CorrelatedHistogram)
        assert users.settings.counts == users.push(rows_of((1, "a"))).plan["count"] == "users"
        assert "one user, who counts once for each of at most 4 items" in repr(users)

    def test_it_is_far_below_counting_in_many_rounds(self, tmp_path: Path) -> None:
        asked = {"rounds": 365, "unit": "user", "budget": ul.Budget(epsilon=1, delta="1e-8")}
        once = Stream.create(tmp_path / "once", **asked, items_per_user=3)
        often = Stream.create(tmp_path / "often", **asked, rounds_per_user=30, items_per_event=3)
        assert 8 * max(once.settings.thresholds) < max(often.settings.thresholds)

    @pytest.mark.parametrize(
        ("said", "refused"),
        [
            ({}, "items_per_user is missing.+over the whole stream.+rounds_per_user and items_per_event instead"),
            ({"items_per_event": 3}, "items_per_user is missing"),
            ({"items_per_user": 3, "items_per_event": 3}, "items_per_event = 3 .+ left out with the unit user"),
            ({"items_per_user": 3, "rounds_per_user": 2}, "items_per_event is missing"),
            ({"items_per_user": 3, "rounds_per_user": 2, "items_per_event": 1}, "items_per_user = 3 .+ left out"),
            ({"items_per_user": 3, "rounds_per_user": 2, "count": "first"}, "rounds_per_user = 2 .+ left out"),
            ({"items_per_user": 3, "count_per_item": 2}, "count_per_item = 2"),
            ({"items_per_user": 0}, "items_per_user = 0"),
            ({"items_per_user": 3, "count": "often"}, "count = 'often'"),
            ({"items_per_user": 3, "period": 3}, "per_period is missing"),
            ({"items_per_user": 3, "per_period": 3}, "period is missing"),
            ({"items_per_user": 3, "period": 30, "per_period": 3}, "period = 30 .+ at most 8"),
            ({"unit": "event", "count": "first", "items_per_event": 3}, "count = 'first'"),
            ({"unit": "event", "items_per_user": 3}, "items_per_event is missing"),
            ({"unit": "event", "items_per_user": 3, "items_per_event": 3}, "items_per_user = 3"),
            ({"unit": "event", "items_per_event": 3, "period": 2, "per_period": 1}, "period = 2"),
        ],
        ids=str,
    )
    def test_refusals(self, tmp_path: Path, said: dict, refused: str) -> None:
        with pytest.raises(InvalidArgumentError, match=refused):
            Stream.create(tmp_path / "s", **{"rounds": 8, "unit": "user", "budget": BUDGET} | said)
        assert list(tmp_path.iterdir()) == []


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=30), max_size=8))
def test_a_table_of_tags_knows_what_came(batches: list[list[tuple[int, int]]]) -> None:
    """Against a dict, with tags of which many share their first half."""
    table, known = TagTable(), {}
    older = table
    for batch in batches:
        tags = np.zeros((len(set(batch)), 16), dtype=np.uint8)
        for row, (first, second) in enumerate(sorted(set(batch))):
            tags[row, 0], tags[row, 9] = first, second
        found = table.rows_of(tags)
        assert found.tolist() == [known.get(tag.tobytes(), -1) for tag in tags]
        for tag in tags[found < 0]:
            known[tag.tobytes()] = len(known)
        older, table = table, table.appended(tags[found < 0])
        # What a table grew from stays as it was.
        assert np.array_equal(older.rows_of(tags), found)
    assert [tag.tobytes() for tag in table.tags.values] == list(known)
