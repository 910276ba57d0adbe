"""Weighing inside engines: every one of them against one in plain Python, round after round."""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests.tables import reference
from tests.tables.fixtures.asked import SECRET, labels, listed, question
from tests.tables.fixtures.engines import KEYS, MAKERS

from unlisted.counts.bounded_counts import LARGEST_COUNT
from unlisted.counts.weight_oracle import ListedWeights, WeightOracle
from unlisted.counts.weights import HEAVIEST, SHARES, UNIT, Rerouting, Weighing
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables.amounts import LARGEST_AMOUNT, Amounts
from unlisted.tables.engines.engine import Rows, World
from unlisted.tables.rerouting import adapted, given_back
from unlisted.tables.table import Table, table
from unlisted.tables.weighing import weighed

ENGINES = ("parquet", "postgres", "spark", "ibis duckdb", "ibis postgres")
WIDTH = UNIT // 16
LAST = 40
MANY = 100
"""A bound that no user of a small table reaches, so that nothing is chosen."""

WEIGHINGS = {
    "in full": Weighing(MANY),
    "giving back": Weighing(MANY, Rerouting(enough=2 * UNIT + 12345, most_items=MANY)),
    "some giving back": Weighing(MANY, Rerouting(enough=UNIT, most_items=3)),
}

MakeTable = Callable[..., Table]


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def key(engine_name: str) -> reference.Key:
    return KEYS.get(engine_name, reference.sha256)


@pytest.fixture
def made(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> MakeTable:
    """Give rows to the engine and return them as a table."""
    return lambda rows: MAKERS[engine_name](rows, tmp_path, request).table("user")


def crowd(users: int = 60, items: int = 40) -> pa.Table:
    """Users with few and many items, some of them everybody's, repeated, and missing."""
    rng = random.Random(7)
    rows = [
        (f"u{u}", f"é{min(rng.randrange(items), rng.randrange(items), rng.randrange(items))}")
        for u in range(users)
        for _ in range(rng.choice([1, 1, 2, 3, 5, 9]))
    ]
    who, what = (list(column) for column in zip(*rows, strict=True))
    return pa.table({"user": [*who, None, "nobody"], "item": [*what, "é1", None]})


def in_memory(pairs: reference.Pairs, names: tuple[str, ...] = ("item",)) -> ListedWeights:
    """The same pairs, weighed in plain Python."""
    several = len(names) > 1
    return ListedWeights(
        {
            who: [dict(zip(names, label, strict=True)) if several else label[0] for label in items]
            for who, items in pairs.items()
        }
    )


def places(oracle: WeightOracle) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every place there is, in an order of its own."""
    there = sorted((b, rank) for b, size in oracle.buckets(WIDTH, LAST).items() for rank in range(size))
    random.Random(3).shuffle(there)
    columns = np.array(there, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def named(oracle: WeightOracle) -> list[str]:
    """All labels with their places and weights; -0.0 and 0.0 are not the same text."""
    at = places(oracle)
    found, weights = oracle.named(*at)
    return [
        repr(one) for one in zip(*(part.tolist() for part in at), labels(found), weights.tolist(), strict=True)
    ]


# Weights


def test_every_engine_weighs_as_plain_python_does_round_after_round(made: MakeTable) -> None:
    rows = crowd()
    plain = in_memory(reference.pairs(rows.to_pylist(), "user", ("item",)))
    with weighed(made(rows), question("item"), SECRET) as oracle:
        assert listed(oracle.counts_of_taken()) == []
        for weighing, taken in zip(WEIGHINGS.values(), (5, 3, 1), strict=True):
            for one in (oracle, plain):
                one.weigh(weighing)
            assert named(oracle) == named(plain)
            buckets, ranks = places(plain)
            assert len(set(buckets.tolist())) > 3, "all labels weigh the same, so this test shows nothing"
            for one in (oracle, plain):
                one.take_out(buckets[:taken], ranks[:taken])
        assert sorted(listed(oracle.counts_of_taken())) == sorted(listed(plain.counts_of_taken()))
        assert len(plain.counts_of_taken()) == 9


def test_only_what_is_in_play_is_weighed_in_every_engine(made: MakeTable) -> None:
    rows = crowd()
    plain = in_memory(reference.pairs(rows.to_pylist(), "user", ("item",)))
    with weighed(made(rows), question("item"), SECRET) as oracle:
        for taken, in_play in ((3, 25), (2, 9), (0, 0)):
            for one in (oracle, plain):
                one.weigh(WEIGHINGS["in full"])
            assert named(oracle) == named(plain)
            buckets, ranks = places(plain)
            assert len(buckets) > taken + in_play
            assert oracle.weights_at(buckets, ranks).tolist() == plain.named(buckets, ranks)[1].tolist()
            for one in (oracle, plain):
                one.take_out(buckets[:taken], ranks[:taken])
                one.keep_in_play(buckets[taken : taken + in_play], ranks[taken : taken + in_play])
        for one in (oracle, plain):
            one.weigh(WEIGHINGS["in full"])
        assert oracle.buckets(WIDTH, LAST) == plain.buckets(WIDTH, LAST) == {}
        assert sorted(listed(oracle.counts_of_taken())) == sorted(listed(plain.counts_of_taken()))
        assert len(plain.counts_of_taken()) == 5


def test_places_are_found_whether_or_not_others_were_looked_at_before() -> None:
    rows = crowd()
    plain = in_memory(reference.pairs(rows.to_pylist(), "user", ("item",)))
    with weighed(table(rows, user="user"), question("item"), SECRET) as oracle:
        for _ in range(2):
            for one in (oracle, plain):
                one.weigh(WEIGHINGS["in full"])
            buckets, ranks = places(plain)
            places(oracle)
            # A few, some of these, some more, others, none: each as if it were asked for first.
            for part in (slice(2, 6), slice(4, 5), slice(0, 9), slice(9, 12), slice(0, 0)):
                found, expected = (one.named(buckets[part], ranks[part]) for one in (oracle, plain))
                assert labels(found[0]) == labels(expected[0])
                assert found[1].tolist() == expected[1].tolist()
            for one in (oracle, plain):
                one.take_out(buckets[3:4], ranks[3:4])
        assert sorted(listed(oracle.counts_of_taken())) == sorted(listed(plain.counts_of_taken()))


def test_sizes_of_users_and_scaled_counts_are_the_same_in_every_engine(made: MakeTable) -> None:
    rows = crowd()
    plain = in_memory(reference.pairs(rows.to_pylist(), "user", ("item",)))
    with weighed(made(rows), question("item"), SECRET) as oracle:
        assert oracle.sizes_of_users() == plain.sizes_of_users() == {}
        assert listed(oracle.scaled_counts_of_taken(np.zeros(0, dtype=np.int64))) == []
        for taken in (7, 12):
            for one in (oracle, plain):
                # The bound is for weighing: sizes and counts are of all items.
                one.weigh(Weighing(MANY))
            buckets, ranks = places(plain)
            for one in (oracle, plain):
                one.buckets(WIDTH, LAST)
                one.take_out(buckets[:taken], ranks[:taken])
            assert oracle.sizes_of_users() == plain.sizes_of_users()
            assert len(plain.sizes_of_users()) > 2, "all users have as many, so this test shows nothing"
            # Any whole numbers, one for each size; the larger the size, the smaller.
            weights = np.array([1024 // m + 7 for m in range(1, 20)], dtype=np.int64)
            found, expected = oracle.scaled_counts_of_taken(weights), plain.scaled_counts_of_taken(weights)
            assert sorted(listed(found)) == sorted(listed(expected))
            assert len(expected) in (7, 19)
            assert (found.sensitivity.items, found.sensitivity.count) == (None, 1031)


def test_totals_are_the_same_in_every_engine(made: MakeTable, key: reference.Key) -> None:
    rows = crowd()
    pairs = reference.pairs(rows.to_pylist(), "user", ("item",))
    plain = in_memory(pairs)
    with weighed(made(rows), question("item"), SECRET) as oracle:
        for taken in (0, 7, 12):
            for one in (oracle, plain):
                one.weigh(Weighing(MANY))
            buckets, ranks = places(plain)
            for one in (oracle, plain):
                one.buckets(WIDTH, LAST)
                if taken:
                    one.take_out(buckets[:taken], ranks[:taken])
                    # A hint leaves labels out of weighing, and of no total.
                    one.keep_in_play(buckets[taken:], ranks[taken:])
            for asked in ("users", "users_of_others"):
                assert getattr(oracle, asked)() == getattr(plain, asked)()
            for most in (1, 3, MANY):
                assert oracle.values_of_users(most) == plain.values_of_users(most)
            out = {(label,) for label in plain.counts_of_taken().labels.to_pylist()}
            left = {who: {item: n for item, n in of.items() if item not in out} for who, of in pairs.items()}
            for most in (2, MANY):
                kept = reference.bounded({who: of for who, of in left.items() if of}, most, SECRET, key)
                assert oracle.other_values(most).value == len({item for items in kept.values() for item in items})
        assert plain.users_of_others().value < plain.users().value, "everybody has others, so this shows nothing"


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(20, 3), pa.int64()])
def test_sums_are_the_same_in_every_engine(made: MakeTable, kind: pa.DataType) -> None:
    amounts = [150, -225, None, 40, 0, 7, 10**9]
    odd = [float("inf"), float("-inf"), float("nan"), 1e300, 5e-324, -0.0, 1.005] if kind == pa.float64() else []
    rows = crowd()
    told = [*amounts, *odd] * len(rows)
    rows = rows.append_column("price", pa.array(told[: len(rows)], kind))
    asked = Amounts("price", 100, -30_000, 45_000)
    pairs = reference.pairs(rows.to_pylist(), "user", ("item",))
    held: dict[str, Counter[str]] = {who: Counter() for who in pairs}
    for row in rows.to_pylist():
        if row["user"] in held and row["item"] is not None:
            held[row["user"]][row["item"]] += units_of(row["price"], asked.units)
    plain = ListedWeights(
        {who: [label for (label,) in of] for who, of in pairs.items()}, amounts=held, bounds=(-30_000, 45_000)
    )
    with weighed(made(rows), question("item", amounts=asked), SECRET) as oracle:
        for one in (oracle, plain):
            one.weigh(Weighing(MANY))
        buckets, ranks = places(plain)
        for one in (oracle, plain):
            one.buckets(WIDTH, LAST)
            one.take_out(buckets[:15], ranks[:15])
        weights = np.array([1024 // m + 7 for m in range(1, 20)], dtype=np.int64)
        found, expected = (one.scaled_sums_of_taken(weights) for one in (oracle, plain))
        assert dict(zip(found.labels.to_pylist(), found.sums.tolist(), strict=True)) == dict(
            zip(expected.labels.to_pylist(), expected.sums.tolist(), strict=True)
        )
        assert (found.low, found.high) == (-30_000, 45_000)
        assert len(set(expected.sums.tolist())) > 5, "all sums are the same, so this test shows nothing"


def units_of(amount: float | Decimal | None, units: int) -> int:
    """The units of a row, in plain Python."""
    if amount is None or math.isnan(amount):
        return 0
    most = LARGEST_AMOUNT / units
    return math.floor(min(max(float(amount), -most), most) * units + 0.5)


def test_what_is_given_back_changes_the_weights_of_these_tests() -> None:
    plain = in_memory(reference.pairs(crowd().to_pylist(), "user", ("item",)))
    found = []
    for weighing in WEIGHINGS.values():
        plain.weigh(weighing)
        found.append(tuple(named(plain)))
    assert len(set(found)) == len(WEIGHINGS)


def test_users_over_the_bound_keep_what_they_would_be_counted_for(made: MakeTable, key: reference.Key) -> None:
    rows = crowd()
    pairs = reference.pairs(rows.to_pylist(), "user", ("item",))
    # A bound of the question itself is not the one that counts here.
    with weighed(made(rows), question("item", items_per_user=1), SECRET) as oracle:
        for weighing in (Weighing(4), Weighing(3, Rerouting(enough=UNIT, most_items=3))):
            kept = reference.bounded(pairs, weighing.items, SECRET, key)
            assert any(len(kept[who]) < len(pairs[who]) for who in pairs)
            plain = in_memory(kept)
            for one in (oracle, plain):
                one.weigh(weighing)
            assert named(oracle) == named(plain)
            buckets, ranks = (of[:4] for of in places(oracle))
            gone = set(labels(plain.named(buckets, ranks)[0]))
            oracle.take_out(buckets, ranks)
            pairs = {who: {one: n for one, n in of.items() if one not in gone} for who, of in pairs.items()}


def test_a_user_too_large_for_one_machine_is_thinned_out_and_keeps_the_same(
    spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"user": ["robot"] * 600 + ["a"], "item": [f"i{i}" for i in range(600)] + ["i0"]})
    source = table(spark_session.createDataFrame(rows), user="user")
    monkeypatch.setattr(source.engine, "giant", 10, raising=False)
    kept = reference.bounded(reference.pairs(rows.to_pylist(), "user", ("item",)), 1, SECRET, reference.sha256)
    plain = in_memory(kept)
    with weighed(source, question("item"), SECRET) as oracle:
        for one in (oracle, plain):
            one.weigh(Weighing(1))
        assert named(oracle) == named(plain)


def test_a_server_without_temporary_tables_weighs_the_same(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = crowd()
    source = MAKERS["postgres"](rows, tmp_path, request).table("user")
    monkeypatch.setattr("unlisted.tables.engines.postgres.engine._can_make_temporary_tables", lambda _: False)
    plain = in_memory(reference.pairs(rows.to_pylist(), "user", ("item",)))
    with weighed(source, question("item"), SECRET) as oracle:
        for weighing in WEIGHINGS.values():
            for one in (oracle, plain):
                one.weigh(weighing)
            assert named(oracle) == named(plain)
            buckets, ranks = places(plain)
            for one in (oracle, plain):
                one.take_out(buckets[:2], ranks[:2])


# Labels


def test_floats_are_told_apart_by_their_bytes(made: MakeTable) -> None:
    values = [0.0, -0.0, float("nan"), None, 1.5, -2.5, 1e300]
    rows = pa.table({"user": [f"u{i}" for i in range(4) for _ in values], "item": values * 4})
    plain = ListedWeights({f"u{i}": [0.0, -0.0, 1.5, -2.5, 1e300] for i in range(4)})
    with weighed(made(rows), question("item"), SECRET) as oracle:
        for one in (oracle, plain):
            one.weigh(WEIGHINGS["giving back"])
        assert named(oracle) == named(plain)
        (bucket,) = oracle.buckets(WIDTH, LAST)
        negative_zero = np.array([bucket]), np.array([1])
        for one in (oracle, plain):
            one.buckets(WIDTH, LAST)
            one.take_out(*negative_zero)
            one.weigh(Weighing(MANY))
        assert named(oracle) == named(plain)
        assert len(named(plain)) == 4
        assert [repr(one) for one in listed(oracle.counts_of_taken())] == ["((-0.0,), 4)"]


def test_items_of_several_columns_a_predicate_and_long_labels(made: MakeTable) -> None:
    rng = random.Random(5)
    rows = [
        {"user": u, "item": f"i{rng.randrange(5)}", "year": 2000 + rng.randrange(3), "age": rng.randrange(9)}
        for u in range(20)
        for _ in range(6)
    ] + [{"user": 3, "item": "x" * 30, "year": 2000, "age": 8}, {"user": 3, "item": "x", "year": None, "age": 8}]
    pairs = reference.pairs(rows, "user", ("item", "year"), where=lambda row: row["age"] >= 4, max_label_bytes=20)
    plain = in_memory(pairs, ("item", "year"))
    asked = question("item", "year", where="age >= 4", max_label_bytes=20, adjacency="replace")
    with weighed(made(pa.Table.from_pylist(rows)), asked, SECRET) as oracle:
        for _ in range(2):
            for one in (oracle, plain):
                one.weigh(WEIGHINGS["some giving back"])
            assert named(oracle) == named(plain)
            buckets, ranks = (of[:2] for of in places(plain))
            for one in (oracle, plain):
                one.take_out(buckets, ranks)
        found = oracle.counts_of_taken()
        assert sorted(listed(found)) == sorted(listed(plain.counts_of_taken()))
        assert (found.sensitivity.items, found.sensitivity.count) == (None, 1)
        assert found.sensitivity.adjacency == "replace"


def test_dates_and_the_order_of_bytes(made: MakeTable) -> None:
    words = ["b", "B", "ä", "\ufb00", "😀", "_"]
    days = [datetime.date(2024, 2, 29), datetime.date(1999, 12, 31)]
    rows = pa.table({"user": list(range(12)), "item": words * 2, "day": [day for day in days for _ in words]})
    plain = in_memory(reference.pairs(rows.to_pylist(), "user", ("item", "day")), ("item", "day"))
    with weighed(made(rows), question("item", "day"), SECRET) as oracle:
        for one in (oracle, plain):
            one.weigh(Weighing(1))
        assert named(oracle) == named(plain)


def test_nothing_to_weigh_is_an_answer_of_the_usual_shape(made: MakeTable) -> None:
    rows = pa.table({"user": pa.array([None, "a"], pa.string()), "item": pa.array(["x", None], pa.string())})
    nowhere = np.zeros(0, dtype=np.int64)
    with weighed(made(rows), question("item"), SECRET) as oracle:
        for weighing in WEIGHINGS.values():
            oracle.weigh(weighing)
            assert oracle.buckets(WIDTH, LAST) == {}
            found, weights = oracle.named(nowhere, nowhere)
            assert (found.type, len(weights)) == (pa.string(), 0)
            oracle.take_out(nowhere, nowhere)
        assert listed(oracle.counts_of_taken()) == []


# Large numbers


def test_large_weights_are_exact_and_capped(made: MakeTable) -> None:
    """What no test has the users for: the last expression, on the largest numbers that it can meet."""
    rerouting = Rerouting(enough=UNIT, most_items=50)
    spread, rng = rerouting.spread, random.Random(11)
    largest = (2**63, 2**31, 2**32, SHARES, 2**63, 2**39)
    cases = [tuple(rng.randrange(most) for most in largest) for _ in range(40)]
    cases += [(own % UNIT, most % UNIT, 1, back, gain, times) for own, most, _, back, gain, times in cases]
    cases.append((LARGEST_COUNT - 1, 0, 0, 0, 1, SHARES * spread))
    cases.append((0, LARGEST_COUNT, 1, 0, 0, 0))
    names = ("own", "most", "users", "back", "gain", "times")
    numbers = {name: pa.array(of, pa.int64()) for name, of in zip(names, zip(*cases, strict=True), strict=True)}
    wide = 'CAST("own" AS HUGEINT) AS "own", CAST("most" AS HUGEINT) * "users" AS "even", "back", '
    wide += 'CAST("gain" AS HUGEINT) * "times" AS "gain", "at"'
    engine = made(crowd()).engine
    with engine.world(Rows(("user", "item"))) as world:
        world.lend("numbers", pa.table(numbers | {"at": pa.array(range(len(cases)))}))
        query = f'SELECT {adapted(rerouting)} AS "n" FROM (SELECT {wide} FROM "numbers") AS "wide" ORDER BY "at"'
        found = world.answer(query).column("n").to_pylist()
    expected = [
        min(own + (spread * most * users * (SHARES - back) + gain * times) // (SHARES * spread), LARGEST_COUNT)
        for own, most, users, back, gain, times in cases
    ]
    assert found == expected
    assert len(set(expected)) > 30
    assert LARGEST_COUNT in expected


def test_the_part_given_back_is_the_same_number_in_every_engine(made: MakeTable) -> None:
    """One division, correctly rounded, of numbers that floating point knows exactly."""
    rerouting = Rerouting(enough=3 * UNIT + 1, most_items=50)
    rng = random.Random(12)
    evens = [rerouting.enough + d for d in (-1, 0, 1, 2)] + [HEAVIEST + d for d in (-1, 0, 1)] + [LARGEST_COUNT]
    evens += [rng.randrange(rerouting.enough, 2 ** rng.randrange(35, 62)) for _ in range(300)]
    with made(crowd()).engine.world(Rows(("user", "item"))) as world:
        world.lend("numbers", pa.table({"e": pa.array(evens, pa.int64()), "at": pa.array(range(len(evens)))}))
        wide = 'SELECT CAST("e" AS HUGEINT) AS "even", "at" FROM "numbers"'
        found = world.answer(f'SELECT {given_back(rerouting)} AS "q" FROM ({wide}) AS "wide" ORDER BY "at"')
    known = [min(even, HEAVIEST) for even in evens]
    expected = [0 if w <= rerouting.enough else int((w - rerouting.enough) / w * SHARES) for w in known]
    assert found.column("q").to_pylist() == expected


# What leaves, and what fails


class Watched:
    """An engine that remembers what went in and what came out."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.lent: list[pa.Table] = []
        self.answers: list[pa.Table] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @contextmanager
    def world(self, rows: Rows) -> Iterator[World]:
        with self._real.world(rows) as world:
            answer, lend = world.answer, world.lend

            def watched_answer(query: str) -> pa.Table:
                self.answers.append(answer(query))
                return self.answers[-1]

            def watched_lend(name: str, lent: pa.Table) -> None:
                self.lent.append(lent)
                lend(name, lent)

            world.answer, world.lend = watched_answer, watched_lend
            yield world


def test_nothing_leaves_but_buckets_and_what_was_asked_for_by_name(made: MakeTable) -> None:
    source = made(crowd())
    watched = Watched(source.engine)
    with weighed(Table(watched, "user", "a source"), question("item"), SECRET) as oracle:
        oracle.weigh(WEIGHINGS["giving back"])
        assert watched.answers == []
        buckets, ranks = places(oracle)
        oracle.named(buckets[:2], ranks[:2])
        oracle.weights_at(buckets[:4], ranks[:4])
        oracle.take_out(buckets[:3], ranks[:3])
        oracle.keep_in_play(buckets[3:9], ranks[3:9])
        oracle.weigh(WEIGHINGS["in full"])
        oracle.counts_of_taken()
        oracle.sizes_of_users()
        oracle.scaled_counts_of_taken(np.array([4, 3, 2]))
    of_buckets, of_names, of_weights, of_counts, of_sizes, of_scaled = watched.answers
    assert of_buckets.column_names == ["b", "labels"]
    assert (of_names.column_names, len(of_names)) == (["position", "i0", "n"], 2)
    assert (of_weights.column_names, len(of_weights)) == (["position", "n"], 4)
    assert (of_counts.column_names, len(of_counts)) == (["i0", "n"], 3)
    assert of_sizes.column_names == ["c", "users"]
    assert (of_scaled.column_names, len(of_scaled)) == (["i0", "n"], 3)
    kinds = {column.type for lent in watched.lent for column in lent.schema}
    assert kinds == {pa.int64()}, "no label goes back into an engine"


@pytest.mark.parametrize("asked", ["named", "taken"])
def test_a_place_that_is_not_there_fails_charged(asked: str) -> None:
    def ask() -> None:
        with weighed(table(crowd(), user="user"), question("item"), SECRET) as oracle:
            oracle.weigh(Weighing(MANY))
            buckets, ranks = places(oracle)
            ranks[0] += 1000
            if asked == "named":
                oracle.named(buckets, ranks)
            else:
                oracle.take_out(buckets, ranks)
                oracle.counts_of_taken()

    with pytest.raises(ChargedFailureError):
        ask()


def test_a_short_secret_is_refused_before_data_is_touched() -> None:
    with (
        pytest.raises(InvalidArgumentError, match="at least 16 bytes"),
        weighed(table(crowd(), user="user"), question("item"), b"guessable"),
    ):
        pass
