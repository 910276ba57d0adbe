"""Unit "user": everybody counts in at most so many rounds, and who they are is kept under the key only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.streams.brooks import files_of, quiet_brook, rows_of, shown

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.binary.tree import most_squares
from unlisted.streams.stream import Stream

Rows = list[tuple[int, str]]
ROUND = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab")), max_size=8)


def plainly(rounds: list[Rows], most: int) -> list[Counter[str]]:
    """The bounded running counts: whoever was counted in `most` rounds is not counted again."""
    taken: Counter[int] = Counter()
    totals: Counter[str] = Counter()
    after = []
    for rows in rounds:
        allowed = {user for user, _ in rows if taken[user] < most}
        totals.update(item for user, item in set(rows) if user in allowed)
        taken.update(allowed)
        after.append(Counter(totals))
    return after


@settings(max_examples=15)
@given(st.lists(ROUND, min_size=1, max_size=5), st.integers(1, 3), st.booleans())
def test_everybody_counts_in_so_many_rounds(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[Rows], most: int, reopened: bool
) -> None:
    path = tmp_path_factory.mktemp("users") / "s"
    stream = quiet_brook(path, unit="user", rounds_per_user=most, threshold=most)
    for rows, totals in zip(rounds, plainly(rounds, most), strict=True):
        release = stream.push(pa.table({"user": pa.array([u for u, _ in rows], pa.int64()), "item": _items(rows)}))
        assert dict(shown(release)) == {item: count for item, count in totals.items() if count > most}
        stream = Stream.open(path) if reopened else stream


def _items(rows: Rows) -> pa.Array:
    return pa.array([item for _, item in rows], pa.string())


def test_nobody_s_drop_depends_on_others(tmp_path: Path) -> None:
    """One user who comes in every round leaves the counts of all others as they are."""
    others = [rows_of(*[(user, "a") for user in range(10 * number, 10 * number + 10)]) for number in range(4)]
    alone = quiet_brook(tmp_path / "alone", unit="user", rounds_per_user=2)
    beside = quiet_brook(tmp_path / "beside", unit="user", rounds_per_user=2)
    for number, rows in enumerate(others, start=1):
        without = shown(alone.push(rows))
        more = pa.concat_tables([rows, rows_of((999, "a"))])
        assert shown(beside.push(more)) == [("a", without[0][1] + min(number, 2))]


def test_a_round_brought_again_is_known_though_its_users_are_used_up(tmp_path: Path) -> None:
    rows = rows_of(*[(user, item) for user in range(30) for item in "ab"])
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=1)
    first = stream.push(rows)
    second = stream.push(rows)
    assert shown(first) == shown(second) == [("a", 30), ("b", 30)]
    before = files_of(tmp_path / "s")
    assert stream.push(rows, number=1).to_bytes() == first.to_bytes()
    assert stream.push(rows, number=2).to_bytes() == second.to_bytes()
    with pytest.raises(InvalidArgumentError, match="other contents"):
        stream.push(rows_of(*[(user + 1, item) for user in range(30) for item in "ab"]), number=1)
    assert files_of(tmp_path / "s") == before


def test_a_round_may_be_a_reader_that_is_read_once(tmp_path: Path) -> None:
    rows = rows_of(*[(user, "a") for user in range(10)])
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=2)
    table = quiet_brook(tmp_path / "t", unit="user", rounds_per_user=2)
    assert shown(stream.push(rows.to_reader())) == shown(table.push(rows)) != []


def test_rows_without_an_item_are_no_contribution(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=1, max_label_bytes=3)
    for nothing in (None, "too long"):
        rows = pa.table({"user": range(20), "item": pa.array([nothing] * 20, pa.string())})
        assert shown(stream.push(rows)) == []
    assert shown(stream.push(rows_of(*[(user, "a") for user in range(20)]))) == [("a", 20)]


def test_the_same_person_as_text_and_as_number(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=1)
    stream.push(rows_of(*[(user, "a") for user in range(20)]))
    assert shown(stream.push(rows_of(*[(str(user), "a") for user in range(21)]))) == [("a", 21)]
    with pytest.raises(InvalidArgumentError, match="a column of texts or whole numbers"):
        stream.push(rows_of((1.5, "a")))


def test_names_of_users_are_nowhere_in_the_folder(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=1)
    for _ in range(2):
        stream.push(rows_of(*[(f"PLANTED {user}", "an item") for user in range(20)]))
    data = b"".join(files_of(tmp_path / "s").values())
    assert b"PLANTED" not in data
    assert b"an item" in data


@pytest.mark.parametrize("counts", [{"a": 9}, ul.BoundedCounts(["a"], [9], ul.Sensitivity(1))], ids=str)
def test_counts_do_not_say_whose_they_are(tmp_path: Path, counts: object) -> None:
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=2)
    with pytest.raises(InvalidArgumentError, match="Only rows say who has contributed"):
        stream.push(counts)
    assert stream.round == 0


def test_gaps_and_schedules_work_for_users_too(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", unit="user", rounds_per_user=2, release_every=3)
    rows = rows_of(*[(user, "a") for user in range(20)])
    assert stream.push(rows, number=1) is None
    assert shown(stream.push(rows, number=3, fill_gaps=True)) == [("a", 40)]
    assert shown(stream.push(rows, number=6, fill_gaps=True)) == [("a", 40)]


def test_the_price_is_the_exact_worst_case(tmp_path: Path) -> None:
    """Of ten daily rounds in a year, not all fall into the same nodes."""
    asked = {"rounds": 365, "items_per_event": 2, "budget": ul.Budget(rho="0.5", delta="1e-6")}
    stream = Stream.create(tmp_path / "s", **asked, unit="user", noise="tree", rounds_per_user=10)
    law = stream.settings.mechanism.law
    assert stream.guarantee.rho == 2 * most_squares(10, 365) * law.rho(1) <= 0.5
    assert most_squares(10, 365) < 9 * 10**2
    assert stream.settings.mechanism.lowest_threshold == 10
    assert "who counts in at most 10 rounds" in repr(stream)
