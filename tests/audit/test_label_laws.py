"""Labels alone, audited: the law that is written down is the program's, one run at a time and all at once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.audit.repeatable import repeatable
from tests.statistical.goodness import Verdict, accepts, as_numbers, g_test, rejects

from unlisted.audit.laws.labels import Crowd, label_ranking_law, label_selection_law, weights_of, without
from unlisted.audit.laws.noise import chance_above
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.subject import BOTTOM
from unlisted.audit.subjects.labels import (
    joined,
    label_pairs,
    label_ranking_batch,
    label_selection_batch,
    oracle_of,
)
from unlisted.counts.weights import UNIT, Rerouting, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking

CROWD = {"a": 2, "ab": 3, "abc": 1, "c": 1}
PLAIN, MANY = 1500, 100_000


def selection(*rounds: tuple[Weighing, int]) -> LabelSelection:
    return LabelSelection(
        tuple(LabelRound(weighing, Fraction(1), threshold * UNIT) for weighing, threshold in rounds)
    )


SELECTIONS = {
    "weighted": selection((Weighing(3), 3)),
    "bounded": selection((Weighing(1), 3)),
    "giving back": selection((Weighing(3, Rerouting(UNIT, 2)), 3)),
    "in rounds": selection((Weighing(2), 5), (Weighing(2), 3)),
    "with hints": LabelSelection(
        (LabelRound(Weighing(3), Fraction(2), 5 * UNIT, 2 * UNIT), LabelRound(Weighing(3), Fraction(1), 3 * UNIT))
    ),
}


def compared(outputs: Counter[Hashable], law: OutputLaw) -> Verdict:
    masses = {outcome: float(chance) for outcome, chance in law.at_least.items()}
    return g_test(*as_numbers(outputs.elements(), masses))


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_is_released_follows_the_law(name: str) -> None:
    chosen, bits = SELECTIONS[name], repeatable(f"plain {name}")()
    outputs = Counter(tuple(chosen.release(oracle_of(CROWD), bits).labels.to_pylist()) for _ in range(PLAIN))
    accepts(compared(outputs, label_selection_law(chosen, CROWD)))
    rejects(compared(outputs, label_selection_law(chosen, joined(CROWD, "b"))))


@pytest.mark.parametrize("name", SELECTIONS)
def test_many_at_once_follow_it_too(name: str) -> None:
    outputs = label_selection_batch(SELECTIONS[name], repeatable(f"many {name}"))(CROWD, MANY)
    assert outputs.total() == MANY
    accepts(compared(outputs, label_selection_law(SELECTIONS[name], CROWD)))
    rejects(compared(outputs, label_selection_law(SELECTIONS[name], joined(CROWD, "b"))))


RANKING = LabelRanking(SELECTIONS["weighted"], 2, Fraction(1, 2))


def test_a_ranking_of_what_was_released_follows_its_law() -> None:
    bits, law = repeatable("a ranking")(), label_ranking_law(RANKING, CROWD)
    outputs = Counter[Hashable]()
    for _ in range(PLAIN):
        answer = RANKING.release(oracle_of(CROWD), bits)
        outputs[(*answer.labels.to_pylist(), *([BOTTOM] if answer.stopped else []))] += 1
    many = label_ranking_batch(RANKING, repeatable("rankings"))(CROWD, MANY)
    other = label_ranking_law(RANKING, {**CROWD, "b": 2})
    for found in (outputs, many):
        accepts(compared(found, law))
        rejects(compared(found, other))


def test_no_runs_and_no_labels() -> None:
    batch = label_selection_batch(SELECTIONS["in rounds"])
    assert batch(CROWD, 0) == Counter()
    assert batch({}, 7) == Counter({(): 7})
    assert label_ranking_batch(RANKING)({}, 7) == Counter({(BOTTOM,): 7})
    assert label_ranking_law(RANKING, {}).at_least == {(BOTTOM,): Decimal(1)}
    assert label_selection_law(SELECTIONS["in rounds"], {}).at_least == {(): Decimal(1)}


@pytest.mark.parametrize("weighing", [Weighing(3), Weighing(2), Weighing(3, Rerouting(UNIT, 2))], ids=str)
def test_weights_are_those_of_the_program_to_a_unit(weighing: Weighing) -> None:
    oracle = oracle_of(CROWD)
    oracle.weigh(weighing)
    sizes = oracle.buckets(1, 1 << 62)
    assert set(sizes.values()) == {1}
    named, weights = oracle.named(np.array(list(sizes)), np.zeros(len(sizes), dtype=np.int64))
    written = weights_of(weighing, CROWD)
    assert set(named.to_pylist()) == set(written)
    for label, weight in zip(named.to_pylist(), weights.tolist(), strict=True):
        assert abs(written[label] - weight) <= 1


def test_released_labels_are_taken_from_everybody() -> None:
    assert without({"ab": 2, "b": 1, "bc": 1}, ["b"]) == {"a": 2, "": 1, "c": 1}
    assert weights_of(Weighing(3), {"": 4, "a": 1}) == {"a": Decimal(UNIT)}


@pytest.mark.parametrize("x", ["-20", "-9", "-3.25", "0", "1e-30", "0.5", "2", "5.5", "8.999", "9", "9.001", "40"])
def test_chances_lie_between_their_bounds(x: str) -> None:
    low, high = chance_above(Decimal(x))
    with mpmath.workdps(60):
        true = mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2
        assert mpmath.mpf(str(low)) <= true <= mpmath.mpf(str(high))
    assert high - low <= Decimal("2e-19")
    assert abs(Decimal(x)) > 9 or high - low <= Decimal("1e-44")


def neighbours(one: Crowd, other: Crowd) -> bool:
    """Return whether two crowds differ in one user who is there or not."""
    less, more = Counter(one), Counter(other)
    return (more - less).total() == 1 and not less - more


def test_pairs_are_neighbours_with_new_and_common_labels() -> None:
    pairs = list(label_pairs(SELECTIONS["weighted"]))
    assert all(neighbours(pair.left, pair.right) for pair in pairs)
    assert len({pair.name for pair in pairs}) == len(pairs)
    users = {word for pair in pairs for word in Counter(pair.right) - Counter(pair.left)}
    assert {"x", "xyz", "a", "ab", "axy", "abx"} <= users


def test_an_exchange_is_a_user_for_another() -> None:
    exchanged = selection((Weighing(2, adjacency="replace"), 3))
    for pair in label_pairs(exchanged):
        left, right = Counter(pair.left), Counter(pair.right)
        assert (left - right).total() == (right - left).total() == 1


def test_labels_that_a_hint_leaves_out_are_in_no_later_round() -> None:
    """One label, by hand: found at once, or above the hint and found then."""
    first = LabelRound(Weighing(1), Fraction(4), 7 * UNIT, 3 * UNIT)
    second = LabelRound(Weighing(1), Fraction(1), 5 * UNIT)
    law = label_selection_law(LabelSelection((first, second)), {"a": 4})
    shown, passed, then = (float(chance_above(Decimal(x))[0]) for x in ("1.5", "-0.5", "1"))
    assert float(law.at_least["a",]) == pytest.approx(shown + (passed - shown) * then, rel=1e-12)
    assert law.missing < Decimal("1e-40")


def test_every_set_of_labels_has_its_chance() -> None:
    law = label_selection_law(SELECTIONS["weighted"], {"a": 2, "b": 1, "c": 1})
    subsets = [subset for n in range(4) for subset in itertools.combinations("abc", n)]
    assert set(law.at_least) == set(subsets)
    assert law.missing < Decimal("1e-40")
