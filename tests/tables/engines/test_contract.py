"""What every engine promises, on real ones, against the slow reference: bounds, fairness, bytes, one world."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scipy import stats
from tests.statistical.goodness import ALPHA, Verdict
from tests.tables import reference
from tests.tables.fixtures.asked import (
    OTHER_SECRET,
    SECRET,
    all_counts,
    all_listed,
    question,
    small_counts,
    top_counts,
)
from tests.tables.fixtures.engines import (
    DATES_ARE_OBJECTS,
    EMPTY_TEXT_IS_MISSING,
    KEYS,
    MAKERS,
    NO_NEGATIVE_ZERO,
    Given,
)

from unlisted.counts.count_profile import CountProfile
from unlisted.counts.readable import LONGEST_USER
from unlisted.tables import bounding, counting
from unlisted.tables.counting import count_all
from unlisted.tables.engines.engine import OwnKey
from unlisted.tables.table import Table

MakeTable = Callable[..., Table]


@pytest.fixture(params=list(MAKERS))
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def key(engine_name: str) -> reference.Key:
    """How the engine draws a key from a text."""
    return KEYS.get(engine_name, reference.sha256)


@pytest.fixture
def made(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> MakeTable:
    """Give rows to the engine and return them as a table."""
    numbers = count()

    def make(rows: pa.Table, user: str = "user") -> Table:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        given: Given = MAKERS[engine_name](rows, folder, request)
        return given.table(user)

    return make


def table_of(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def crowd(users: int = 60, seed: int = 1) -> pa.Table:
    """Users with few and many items, shared and repeated."""
    rng = random.Random(seed)
    rows = [(f"u{u}", f"i{rng.randrange(12)}") for u in range(users) for _ in range(rng.randrange(1, 16))]
    who, what = zip(*rows, strict=True)
    return table_of(user=list(who), item=list(what))


# Bounds


def test_where_no_user_is_over_the_bound_all_engines_count_the_same(made: MakeTable) -> None:
    rows = crowd()
    expected = reference.counts(reference.pairs(rows.to_pylist(), "user", ("item",)))
    assert all_counts(made(rows), question("item", items_per_user=100)) == expected


def test_heavy_users_keep_what_the_reference_keeps(made: MakeTable, key: reference.Key) -> None:
    rows = crowd()
    kept = reference.bounded(reference.pairs(rows.to_pylist(), "user", ("item",)), 3, SECRET, key)
    assert all_counts(made(rows), question("item")) == reference.counts(kept)


def test_no_user_is_over_the_bound_and_users_under_it_are_untouched(made: MakeTable) -> None:
    sizes = {f"u{u}": u % 8 + 1 for u in range(40)}
    rows = [(user, f"{user}:{i}") for user, size in sizes.items() for i in range(size)]
    table = made(table_of(user=[user for user, _ in rows], item=[item for _, item in rows]))
    kept = Counter(item.partition(":")[0] for (item,) in all_counts(table, question("item", items_per_user=4)))
    assert kept == {user: min(size, 4) for user, size in sizes.items()}


def test_the_same_key_makes_the_same_choice_and_another_key_another(made: MakeTable) -> None:
    table, asked = made(crowd()), question("item")
    assert all_counts(table, asked) == all_counts(table, asked)
    assert all_counts(table, asked) != all_counts(table, asked, OTHER_SECRET)


def test_what_one_user_keeps_does_not_depend_on_others(made: MakeTable) -> None:
    alone = [{"user": "me", "item": f"mine{i}"} for i in range(9)]
    others = [{"user": f"u{u}", "item": f"theirs{i}"} for u in range(20) for i in range(9)]
    asked = question("item")
    by_myself = all_counts(made(pa.Table.from_pylist(alone)), asked)
    among_others = all_counts(made(pa.Table.from_pylist(others + alone)), asked)
    assert {label: n for label, n in among_others.items() if label[0].startswith("mine")} == by_myself


def test_ties_drop_and_never_add(made: MakeTable, key: reference.Key, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [{"user": f"u{u}", "item": f"u{u}:{i}"} for u in range(40) for i in range(20)]
    table = made(pa.Table.from_pylist(pairs))
    # With sixteen different keys, some of twenty meet in every user.
    has_own_key = isinstance(table.engine, OwnKey)
    if isinstance(table.engine, OwnKey):
        fine = table.engine.key
        monkeypatch.setattr(table.engine, "key", lambda text: f"{fine(text)} % 16")
    else:
        monkeypatch.setattr(bounding, "KEY_DIGITS", 1)

    def coarse(text: str) -> Any:
        return key(text) % 16 if has_own_key else key(text)[:1]

    counted = all_counts(table, question("item", items_per_user=6))
    kept = Counter(item.partition(":")[0] for (item,) in counted)
    assert max(kept.values()) <= 6
    assert sum(kept.values()) < 40 * 6, "no tie was met, so this test shows nothing"
    assert counted == reference.counts(
        reference.bounded(reference.pairs(pairs, "user", ("item",)), 6, SECRET, coarse)
    )


def uniform_choice(kept: list[int], users: int, items_per_user: int) -> Verdict:
    """Ask whether every user chose so many of these items uniformly, given how many kept each."""
    share = items_per_user / len(kept)
    spread = users * share * (1 - share)
    # The counts add up to a known number, which takes one degree of freedom and shrinks their spread with it.
    statistic = sum((n - users * share) ** 2 for n in kept) / spread * (len(kept) - 1) / len(kept)
    bound = float(stats.chi2.isf(ALPHA, len(kept) - 1))
    return Verdict("chi-square of kept items", statistic, bound, users)


def test_kept_items_are_a_uniform_choice(made: MakeTable) -> None:
    users, items = 1200, 12
    rows = table_of(
        user=[user for user in range(users) for _ in range(items)], item=[f"i{i}" for i in range(items)] * users
    )
    counted = all_counts(made(rows), question("item", items_per_user=5))
    assert sum(counted.values()) == users * 5
    verdict = uniform_choice([counted[(f"i{i}",)] for i in range(items)], users, 5)
    assert not verdict.rejected, str(verdict)


def test_a_choice_that_prefers_one_item_a_little_would_be_noticed() -> None:
    users, items, rng = 1200, 12, random.Random(3)
    kept: Counter[int] = Counter()
    for _ in range(users):
        keys = {i: rng.random() ** (1.4 if i == 0 else 1) for i in range(items)}
        kept.update(sorted(keys, key=keys.__getitem__)[:5])
    verdict = uniform_choice([kept[i] for i in range(items)], users, 5)
    assert verdict.rejected, str(verdict)


# Counting


def test_rows_are_counted_up_to_the_bound_of_each_user_and_item(made: MakeTable) -> None:
    """Peers 16 and 17: what is counted is what was bounded, and it was bounded before it was summed."""
    rows = table_of(user=["a"] * 7 + ["b"] * 2 + ["c"], item=["x"] * 7 + ["x"] * 2 + ["x"])
    counted = all_counts(made(rows), question("item", count="rows", rows_per_item=3))
    assert counted == {("x",): 3 + 2 + 1}


def test_rows_of_heavy_users_agree_with_the_reference(made: MakeTable, key: reference.Key) -> None:
    rows = crowd(seed=5)
    kept = reference.bounded(reference.pairs(rows.to_pylist(), "user", ("item",)), 4, SECRET, key)
    asked = question("item", items_per_user=4, count="rows", rows_per_item=2)
    assert all_counts(made(rows), asked) == reference.counts(kept, rows_per_item=2)


def test_repeated_rows_count_once_as_users(made: MakeTable) -> None:
    rows = table_of(user=["a", "a", "a", "b"], item=["x", "x", "y", "x"])
    assert all_counts(made(rows), question("item", items_per_user=2)) == {("x",): 2, ("y",): 1}


def test_users_who_share_items_are_bounded_each_on_their_own(made: MakeTable) -> None:
    """Peer 9: bounding is by pairs of user and item, however many users share the item."""
    rows = table_of(user=[u for u in range(30) for _ in range(6)], item=[f"i{i}" for i in range(6)] * 30)
    counted = all_counts(made(rows), question("item", items_per_user=2))
    assert sum(counted.values()) == 60


def test_items_of_several_columns_are_told_apart(made: MakeTable) -> None:
    rows = table_of(
        user=["a", "b", "c", "d", "e"], item=["a", "ab", "a", "", ""], other=["bc", "c", "bc", "abc", None]
    )
    expected = {("a", "bc"): 2, ("ab", "c"): 1, ("", "abc"): 1}
    asked = question("item", "other", items_per_user=1)
    found = all_counts(made(rows), asked)
    assert {label: n for label, n in found.items() if label[0]} == {
        label: n for label, n in expected.items() if label[0]
    }


def test_items_of_several_columns_are_bounded_as_the_reference_bounds_them(
    made: MakeTable, key: reference.Key
) -> None:
    rng = random.Random(8)
    rows = [
        {"user": user, "item": f"i{rng.randrange(4)}", "year": 2000 + rng.randrange(5)}
        for user in range(25)
        for _ in range(9)
    ]
    kept = reference.bounded(reference.pairs(rows, "user", ("item", "year")), 3, SECRET, key)
    assert all_counts(made(pa.Table.from_pylist(rows)), question("item", "year")) == reference.counts(kept)


@pytest.mark.parametrize("asked", [question("item"), question("item", items_per_user=None)])
def test_the_largest_counts_come_with_ties_broken_by_bytes(made: MakeTable, asked: Any) -> None:
    # Java and Python sort "\ufb00" after "😀" by code units, but before it by bytes.
    names = ["b", "B", "a", "ä", "z", "Z", "\ufb00", "😀", "aa", "a b", "_", "\u00e9", "e\u0301"]
    rows = table_of(user=[f"u{i}" for i in range(len(names))] + ["v"], item=[*names, "z"])
    expected = reference.top(reference.counts(reference.pairs(rows.to_pylist(), "user", ("item",))), 8)
    assert top_counts(made(rows), asked, fetch=7) == expected


def test_fewer_rows_than_were_fetched_are_all_there_is(made: MakeTable) -> None:
    table = made(table_of(user=["a", "b"], item=["x", "x"]))
    assert top_counts(table, question("item"), fetch=100) == [(("x",), 2)]


# One world, two ways


def test_a_profile_with_fetched_labels_says_what_the_whole_list_says(
    made: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peer 31 and "which path ran shows in no output": both ways give the same counts under the same key."""
    table, asked = made(crowd(users=200)), question("item", items_per_user=2)
    with count_all(table, asked, cut=30, secret=SECRET) as found:
        assert not isinstance(found, CountProfile)
    whole = all_counts(table, asked)
    monkeypatch.setattr(counting, "FEW_LABELS", 0)
    with count_all(table, asked, cut=30, secret=SECRET) as found:
        assert isinstance(found, CountProfile)
        assert found.small
        assert all(n <= 30 for n in found.small)
        assert sorted(small_counts(found)) == sorted((label, n) for label, n in whole.items() if n <= 30)
    assert all_counts(table, asked, cut=30) == whole


def test_labels_can_be_fetched_more_than_once_in_one_world(
    made: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "FEW_LABELS", 0)
    table = made(table_of(user=["a", "b", "c"], item=["x", "y", "z"]))
    with count_all(table, question("item"), cut=5, secret=SECRET) as found:
        assert isinstance(found, CountProfile)
        assert small_counts(found) == small_counts(found)


# What counts and what is dropped


def test_rows_without_a_user_or_an_item_are_dropped(made: MakeTable) -> None:
    rows = table_of(user=["a", None, "b", None, "c"], item=["x", "x", None, None, "x"])
    assert all_counts(made(rows), question("item")) == {("x",): 2}


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())}),
        pa.table({"user": pa.array([None] * 3, pa.string()), "item": pa.array([None] * 3, pa.string())}),
        pa.table({"user": ["a", "b"], "item": pa.array([None, None], pa.string())}),
    ],
    ids=["no rows", "only nulls", "no items"],
)
def test_nothing_to_count_is_an_answer_of_the_usual_shape(made: MakeTable, rows: pa.Table) -> None:
    """Peer 30."""
    table, asked = made(rows), question("item")
    assert all_counts(table, asked) == {}
    assert top_counts(table, asked, fetch=5) == []
    with count_all(table, asked, cut=5, secret=SECRET) as found:
        assert found.labels.type in (pa.string(), pa.large_string())


@pytest.mark.parametrize("size", [1, 2047, 2048, 2049])
def test_no_size_of_a_table_is_special(made: MakeTable, size: int) -> None:
    """Peer 24: a failure at one number of rows and not at the next tells the number of rows."""
    rows = table_of(user=list(range(size)), item=["x"] * size)
    assert all_counts(made(rows), question("item")) == {("x",): size}


def test_a_predicate_comes_before_the_bound(made: MakeTable) -> None:
    rows = table_of(user=["a"] * 8 + ["b"], item=[f"i{i}" for i in range(8)] + ["i7"], age=[*range(8), 7])
    asked = question("item", items_per_user=2, where="age >= 6")
    assert all_counts(made(rows), asked) == {("i6",): 1, ("i7",): 2}


def test_a_predicate_may_speak_of_the_item(made: MakeTable) -> None:
    rows = table_of(user=["a", "b", "c"], item=["tea", "Tea", "coffee"])
    assert all_counts(made(rows), question("item", where="item LIKE 't%'")) == {("tea",): 1}


# Labels by their bytes

HOSTILE_LABELS = [
    "A", "a", "a ", " a", "\u00c9", "E\u0301", "\u00e9", "e\u0301", "ß", "ss", "0", "00", "1e3", "true", "NULL",
    "null", "nan", "NaN",
    "'", '"', "''", '"; DROP TABLE rows; --', "\\", "\\n", "%", "_", "a,b", "a;b", "tab\there", "line\nbreak",
    "cr\rhere", "\u200b", "😀", "\ufb00", "unlisted_source", "{0}", "%s", "$1", "<script>", "i" * 200,
]  # fmt: skip


def test_labels_are_never_normalised(made: MakeTable) -> None:
    rows = table_of(user=[f"u{i}" for i in range(len(HOSTILE_LABELS))], item=HOSTILE_LABELS)
    assert all_counts(made(rows), question("item")) == {(label,): 1 for label in HOSTILE_LABELS}


def test_hostile_labels_and_users_are_bounded_as_the_reference_bounds_them(
    made: MakeTable, key: reference.Key
) -> None:
    rows = [{"user": user, "item": item} for user in HOSTILE_LABELS for item in HOSTILE_LABELS]
    kept = reference.bounded(reference.pairs(rows, "user", ("item",)), 5, SECRET, key)
    asked = question("item", items_per_user=5)
    assert all_counts(made(pa.Table.from_pylist(rows)), asked) == reference.counts(kept)


def test_an_empty_text_is_a_label_where_the_source_can_say_it(made: MakeTable, engine_name: str) -> None:
    rows = table_of(user=["a", "b", ""], item=["", "x", "x"])
    says_it = engine_name not in EMPTY_TEXT_IS_MISSING
    assert all_counts(made(rows), question("item")) == ({("",): 1, ("x",): 2} if says_it else {("x",): 1})


def test_labels_over_the_longest_are_dropped_by_their_bytes(made: MakeTable) -> None:
    """Peer 32: a label could carry a message."""
    rows = table_of(user=["a", "b", "c"], item=["é" * 10, "é" * 11, "x" * 21])
    assert all_counts(made(rows), question("item", max_label_bytes=20)) == {("é" * 10,): 1}
    assert len(all_counts(made(rows), question("item", max_label_bytes=21))) == 2


def test_users_whose_names_are_too_long_are_dropped_by_their_bytes(made: MakeTable) -> None:
    """A name is kept once for each item of the user: a long one, written once, could fill a disk."""
    long = "é" * (LONGEST_USER // 2)
    rows = table_of(user=[long, long + "x", "a", long, "a"], item=["i", "i", "i", "j", "j"], seen=["b"] * 5)
    assert all_counts(made(rows), question("item")) == {("i",): 2, ("j",): 2}
    bounded = all_counts(made(rows), question("item", items_per_user=1, where="seen = 'b'"))
    assert sum(bounded.values()) == 2


def test_the_bytes_of_all_columns_of_a_label_count(made: MakeTable) -> None:
    rows = table_of(user=["a", "b"], item=["x" * 6, "x" * 6], other=["y" * 4, "y" * 5])
    assert list(all_counts(made(rows), question("item", "other", max_label_bytes=10))) == [("x" * 6, "y" * 4)]


HOSTILE_NAMES = [
    'we"ird', "two words", "select", "ünï😀", "a'b", "semi;--", "%s", "{x}", 'x FROM "unlisted_source"',
    "u", "i0", "n", "pairs", "unlisted_source", "percent%", "dot.ted", "UPPER", "`tick`",
]  # fmt: skip


def test_columns_may_have_any_name(made: MakeTable) -> None:
    rows = pa.table(
        {name: ["a", "a", "b"] if at % 2 else ["x", "y", "x"] for at, name in enumerate(HOSTILE_NAMES)}
    )
    for item, user in zip(HOSTILE_NAMES[::2], HOSTILE_NAMES[1::2], strict=True):
        assert all_counts(made(rows, user), question(item)) == {("x",): 2, ("y",): 1}, (item, user)
        assert top_counts(made(rows, user), question(item), fetch=1)[0] == (("x",), 2), (item, user)


# Numbers, dates, and values that are none


def test_whole_numbers_stay_whole_numbers(made: MakeTable) -> None:
    rows = table_of(user=[1, 2, 3, 3], item=[-5, 2**62, 0, 0])
    assert all_counts(made(rows), question("item")) == {(-5,): 1, (2**62,): 1, (0,): 1}


def test_booleans_and_dates_stay_what_they_are(made: MakeTable, engine_name: str) -> None:
    day = datetime.date(2024, 2, 29)
    rows = table_of(user=["a", "b", "c"], flag=[True, True, False], day=[day, day, None])
    table = made(rows)
    assert all_counts(table, question("flag")) == {(True,): 2, (False,): 1}
    said = str(day) if engine_name in DATES_ARE_OBJECTS else day
    assert all_counts(table, question("day")) == {(said,): 2}


def test_floats_are_told_apart_by_their_bytes_and_nan_is_no_item(made: MakeTable, engine_name: str) -> None:
    """Peer 26: NaN, infinity, -0.0 and NULL as items."""
    values = [0.0, -0.0, float("nan"), None, 1.5, 1e300]
    rows = table_of(user=[f"u{i}" for i in range(len(values))], item=values)
    found = all_listed(made(rows), question("item"))
    zeros = ["((0.0,), 2)"] if engine_name in NO_NEGATIVE_ZERO else ["((-0.0,), 1)", "((0.0,), 1)"]
    assert sorted(map(repr, found)) == [*zeros, "((1.5,), 1)", "((1e+300,), 1)"]


def test_floats_are_bounded_and_ordered(made: MakeTable, engine_name: str) -> None:
    rows = table_of(user=["a"] * 5 + ["b"], item=[0.0, -0.0, 2.5, -2.5, 7.0, 0.0])
    assert sum(n for _, n in all_listed(made(rows), question("item", items_per_user=2))) == 3
    found = top_counts(made(rows), question("item", items_per_user=5), fetch=10)
    ordered = ["0.0", "-2.5", "-0.0", "2.5", "7.0"]
    told = [one for one in ordered if one != "-0.0" or engine_name not in NO_NEGATIVE_ZERO]
    assert [repr(label[0]) for label, _ in found] == told


def test_a_user_that_is_nan_is_nobody(made: MakeTable) -> None:
    """Peer 26: NaN, infinity, -0.0 and NULL as users."""
    rows = table_of(user=[1.0, float("nan"), float("nan"), None, 2.0], item=["x"] * 5)
    assert all_counts(made(rows), question("item")) == {("x",): 2}
