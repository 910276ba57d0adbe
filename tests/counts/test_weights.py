"""No user moves the weights of labels further than is claimed: exact fractions on many small tables."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import example, given, target
from hypothesis import strategies as st
from tests.counts.weights_reference import (
    Crowd,
    Items,
    even_weights,
    joined,
    moved,
    part_given_back,
    weights,
)
from tests.privacy.high_precision import quick

from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import (
    HEAVIEST,
    LARGEST_ITEMS,
    MOST_LABELS,
    UNEVEN,
    UNIT,
    Rerouting,
    Weighing,
    even_weight,
    full_weight,
)
from unlisted.errors import InvalidArgumentError

LABELS = "abcde"
SETS = [frozenset(s) for n in range(1, 6) for s in itertools.combinations(LABELS, n)]
CROWDS = st.dictionaries(st.sampled_from(SETS), st.integers(1, 40), min_size=1, max_size=5)


def near(crowd: Crowd, most_items: int, which: int, offset: int) -> Rerouting:
    """Return the giving back of labels that have about as much as one of the crowd's: there it is steepest."""
    even = sorted(even_weights(crowd, most_items).values())[which % len(set().union(*crowd))]
    return Rerouting(min(max(UNIT, even + offset), HEAVIEST - 1), most_items)


@given(st.integers(1, LARGEST_ITEMS))
@example(1)
@example(LARGEST_ITEMS)
def test_full_weights_together_are_as_long_as_one_and_hardly_shorter(items: int) -> None:
    assert items * full_weight(items) ** 2 <= UNIT**2 < items * (full_weight(items) + 1) ** 2
    assert items * even_weight(items) <= UNIT
    assert even_weight(items) <= full_weight(items)


@pytest.mark.parametrize("items", [1, 2, 7, 100])
def test_a_user_moves_plain_weights_by_one_and_an_exchange_by_the_diagonal(items: int) -> None:
    here, there = frozenset(f"a{i}" for i in range(items)), frozenset(f"b{i}" for i in range(items))
    alone = moved({}, weights({here: 1}))
    assert alone <= Weighing(items).reach_squared
    exchanged = moved(weights({here: 1}), weights({there: 1}))
    assert exchanged == 2 * alone <= Weighing(items, adjacency="replace").reach_squared
    assert float(alone) == pytest.approx(Weighing(items).reach_squared)


@quick
@given(CROWDS, st.sampled_from(SETS), st.integers(1, 5), st.integers(0, 4), st.integers(-UNIT, UNIT))
def test_a_newcomer_moves_given_back_weights_by_no_more_than_one(
    crowd: dict[Items, int], newcomer: Items, most_items: int, which: int, offset: int
) -> None:
    rerouting = near(crowd, most_items, which, offset)
    length = moved(weights(crowd, rerouting), weights(joined(crowd, newcomer), rerouting))
    target(float(length / UNIT**2))
    assert length <= UNIT**2


@quick
@given(CROWDS, st.sampled_from(SETS), st.integers(1, 5), st.integers(0, 4), st.integers(0, 3))
def test_labels_of_a_newcomer_alone_are_no_heavier_than_said_and_the_others_move_less(
    crowd: dict[Items, int], shared: Items, most_items: int, which: int, own: int
) -> None:
    rerouting = near(crowd, most_items, which, -1)
    newcomer = shared | {f"own{i}" for i in range(own)}
    before, after = weights(crowd, rerouting), weights(joined(crowd, newcomer), rerouting)
    new = newcomer - set().union(*crowd)
    assert all(after[i] <= Weighing(8, rerouting).alone(len(newcomer)) for i in new)
    part = Fraction(len(new), len(newcomer))
    assert moved(before, after, after.keys() - new) <= (1 - part) * UNIT**2


def test_no_search_finds_a_user_who_moves_weights_further() -> None:
    """Climb from crowd to crowd, to where a newcomer moves weights more; with less spread it gets above one."""
    assert longest_found(None) <= 1
    assert longest_found(2) > 1


def longest_found(spread: int | None) -> Fraction:
    chosen = random.Random(7)
    worst = Fraction(0)
    for _ in range(12):
        crowd: dict[Items, int] = {}
        newcomer, which, offset, best = chosen.choice(SETS[:15]), 0, -1, Fraction(0)
        for _ in range(40):
            next_crowd = {**crowd, chosen.choice(SETS[:15]): chosen.choice([0, 1, 3, 30])}
            next_newcomer = chosen.choice(SETS[:15]) if chosen.random() < 0.3 else newcomer
            fresh = chosen.randrange(5), chosen.randrange(UNIT)
            next_which, next_offset = chosen.choice([(which, offset), fresh])
            rerouting = near(next_crowd, 2, next_which, -next_offset)
            before = weights(next_crowd, rerouting, spread)
            found = moved(before, weights(joined(next_crowd, next_newcomer), rerouting, spread)) / UNIT**2
            if found >= best:
                crowd, newcomer, which, offset, best = next_crowd, next_newcomer, next_which, next_offset, found
        worst = max(worst, best)
    return worst


def test_a_spread_over_as_many_as_a_user_has_is_not_enough() -> None:
    """The proof's example: many have both labels, one has the first only, and a newcomer has both."""
    both, first = frozenset("ab"), frozenset("a")
    crowd = {both: 20, first: 1}
    rerouting = Rerouting(10 * UNIT + UNIT // 2, 2)
    assert rerouting.spread == 5

    def length(spread: int | None) -> Fraction:
        before, after = (weights(one, rerouting, spread) for one in (crowd, joined(crowd, both)))
        return moved(before, after) / UNIT**2

    assert length(2) == pytest.approx(1.1, abs=0.02)
    assert length(None) <= 1


@pytest.mark.parametrize("most_items", [2, 3, 5])
def test_a_spread_over_fewer_than_a_user_has_breaks_where_all_have_the_same(most_items: int) -> None:
    all_of_them = frozenset(LABELS[:most_items])
    crowd = {all_of_them: 30 * most_items}
    rerouting = Rerouting(30 * UNIT, most_items)

    def length(spread: int | None) -> Fraction:
        before, after = (weights(one, rerouting, spread) for one in (crowd, joined(crowd, all_of_them)))
        return moved(before, after)

    assert length(most_items - 1) > UNIT**2 >= length(None)


@quick
@given(st.integers(UNIT, HEAVIEST - 1), st.integers(0, 1 << 60), st.integers(1, UNIT))
@example(UNIT, HEAVIEST - 1, UNIT)
@example(UNIT, HEAVIEST - UNIT, UNIT)
@example(HEAVIEST - 1, HEAVIEST - 1, 2)
@example(UNIT, UNIT, 1)
@example(UNIT, UNIT - 1, UNIT)
def test_what_a_label_gives_back_grows_no_faster_than_it_does(enough: int, weight: int, more: int) -> None:
    before, after = (w * part_given_back(w, enough) for w in (weight, weight + more))
    assert 0 <= after - before <= more + UNEVEN
    assert part_given_back(weight, enough) <= part_given_back(weight + more, enough) < 1


@pytest.mark.parametrize("weight", [HEAVIEST - 3, HEAVIEST // 2 + 1, 3 * UNIT + 7])
def test_near_the_heaviest_every_step_is_small(weight: int) -> None:
    given_back = [(weight + i) * part_given_back(weight + i, 2 * UNIT) for i in range(64)]
    assert all(0 <= after - before <= 1 + UNEVEN for before, after in itertools.pairwise(given_back))


@given(st.integers(1, 40))
def test_the_spread_is_the_least_that_the_proof_allows(most_items: int) -> None:
    def allows(spread: int) -> bool:
        return all(
            spread * (2 * full_weight(n) - even_weight(n) - UNEVEN)
            >= n * (2 * full_weight(n) + even_weight(n) + UNEVEN)
            for n in range(1, most_items + 1)
        )

    spread = Rerouting(UNIT, most_items).spread
    assert allows(spread)
    assert not allows(spread - 1)
    assert spread >= most_items


@quick
@given(CROWDS, st.integers(1, 5), st.integers(0, 4), st.integers(-UNIT, UNIT))
def test_scales_weigh_what_the_definition_says(
    crowd: dict[Items, int], most_items: int, which: int, offset: int
) -> None:
    rerouting = near(crowd, most_items, which, offset)
    people = [items for items, times in crowd.items() for _ in range(times)]
    for chosen in (None, rerouting):
        oracle = ListedWeights(dict(enumerate(people)))
        oracle.weigh(Weighing(5, chosen))
        exact = weights(crowd, chosen)
        # With buckets one unit wide, a bucket is a weight less one.
        counted = oracle.buckets(1, 1 << 62)
        rounded = [math.floor(weight) - 1 for weight in exact.values()]
        assert counted == {weight: rounded.count(weight) for weight in rounded}


def test_the_last_rounding_is_paid_for() -> None:
    rerouting = Rerouting(UNIT, 2)
    plain, adaptive = Weighing(5), Weighing(5, rerouting)
    assert adaptive.reach_squared == (UNIT + math.isqrt(MOST_LABELS)) ** 2
    assert 1 < adaptive.reach_squared / plain.reach_squared < 1.001
    assert Weighing(5, rerouting, "replace").reach_squared == 4 * adaptive.reach_squared


@given(st.integers(1, 10**5), st.integers(1, 30))
def test_what_a_lone_label_weighs_does_not_grow_with_the_items(items: int, most_items: int) -> None:
    for rerouting in (None, Rerouting(UNIT, most_items)):
        weighing = Weighing(LARGEST_ITEMS, rerouting)
        assert weighing.alone(items + 1) <= weighing.alone(items)
        assert weighing.alone(items) >= full_weight(items)


@pytest.mark.parametrize("most_items", [3, 8])
def test_what_is_rerouted_to_a_lone_label_rounds_up(most_items: int) -> None:
    rerouting = Rerouting(UNIT, most_items)
    part = Fraction(UNIT, rerouting.spread)
    assert part.denominator > 1, "or nothing would be rounded"
    assert Weighing(8, rerouting).alone(1) == full_weight(1) + math.ceil(part)


@pytest.mark.parametrize(
    ("bad", "argument"),
    [
        (lambda: Weighing(0), "items_per_user"),
        (lambda: Weighing(LARGEST_ITEMS + 1), "items_per_user"),
        (lambda: Weighing(3, adjacency="both"), "adjacency"),
        (lambda: Weighing(3, Rerouting(UNIT, 4)), "most_items"),
        (lambda: Rerouting(UNIT - 1, 4), "enough"),
        (lambda: Rerouting(HEAVIEST, 4), "enough"),
        (lambda: Rerouting(UNIT, 0), "most_items"),
    ],
)
def test_what_cannot_be_weighed_is_refused(bad: object, argument: str) -> None:
    with pytest.raises(InvalidArgumentError, match=argument):
        bad()
