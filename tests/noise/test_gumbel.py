"""The race: exact order of scores with Gumbel noise, decided by bits and never by a float."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits, ScriptedBits
from tests.privacy.high_precision import mp, real
from tests.statistical.goodness import accepts, as_numbers, g_test, mean_test, rejects, same_law_test

from unlisted.noise import gumbel
from unlisted.noise.bits import Bits
from unlisted.noise.gumbel import first_in_race
from unlisted.noise.rejection import bernoulli_exp

Outcome = tuple[tuple[int, ...], bool]
WORD = 1 << 64


def race(values: list[int], bottom: Fraction | int, rate: Fraction | int, first: int, bits: Bits) -> Outcome:
    order, stopped = first_in_race(np.array(values, dtype=np.int64), Fraction(bottom), Fraction(rate), first, bits)
    return tuple(order.tolist()), stopped


def exact_law(values: list[int], bottom: Fraction, rate: Fraction, first: int) -> dict[Outcome, float]:
    """Enumerate every outcome of drawing without replacement with chance e^score, until ⊥ or enough."""
    law: dict[Outcome, float] = defaultdict(float)
    highest = max([*map(Fraction, values), bottom])

    def weight(value: Fraction | int) -> float:
        return math.exp(float(rate * (value - highest)))

    def draw(out: tuple[int, ...], chance: float) -> None:
        if len(out) == first:
            law[out, False] += chance
            return
        left = [i for i in range(len(values)) if i not in out]
        total = weight(bottom) + math.fsum(weight(values[i]) for i in left)
        law[out, True] += chance * weight(bottom) / total
        for i in left:
            draw((*out, i), chance * weight(values[i]) / total)

    draw((), 1.0)
    return dict(law)


def peeled(values: list[int], bottom: Fraction, rate: Fraction, first: int, bits: Bits) -> Outcome:
    """The slow, obvious twin: the exponential mechanism by exact rejection, peeled one draw at a time.

    Propose anyone who is left, uniformly; keep the proposal with chance e^(score - best score).
    """
    left, out = [*range(len(values)), -1], []
    score = dict(enumerate(map(Fraction, values))) | {-1: bottom}
    while len(out) < first:
        best = max(score[i] for i in left)
        while True:
            proposed = left[bits.below(len(left))]
            if bernoulli_exp(rate * (best - score[proposed]), bits):
                break
        if proposed == -1:
            return tuple(out), True
        left.remove(proposed)
        out.append(proposed)
    return tuple(out), False


RACES: list[tuple[list[int], Fraction, Fraction, int]] = [
    ([3, 2, 1], Fraction(2), Fraction(1), 1),
    ([3, 2, 1], Fraction(2), Fraction(1), 2),
    ([3, 2, 1], Fraction("1.5"), Fraction("0.7"), 3),
    ([5, 5, 5], Fraction(5), Fraction("0.3"), 2),
    ([1, 9], Fraction("4.25"), Fraction("0.2"), 5),
    ([], Fraction(3), Fraction(1), 2),
    ([2**62, 2**62 - 1, 2**62 - 3], 2**62 - Fraction(5, 3), Fraction("0.6"), 2),
    ([2**62, 1], Fraction(2**61), Fraction(1, 2**61), 2),
]
races = pytest.mark.parametrize(("values", "bottom", "rate", "first"), RACES, ids=range(len(RACES)))


@races
def test_the_race_has_the_sequential_law(values: list[int], bottom: Fraction, rate: Fraction, first: int) -> None:
    bits = KnownBits(f"race {values} {bottom} {rate} {first}")
    law = exact_law(values, bottom, rate, first)
    outcomes = [race(values, bottom, rate, first, bits) for _ in range(2500)]
    if len(law) == 1:
        assert set(outcomes) == set(law)
    else:
        accepts(g_test(*as_numbers(outcomes, law)))


@races
def test_the_race_and_the_peeling_twin_agree(
    values: list[int], bottom: Fraction, rate: Fraction, first: int
) -> None:
    law = exact_law(values, bottom, rate, first)
    slow, fast = KnownBits(f"twin {values} {first}"), KnownBits(f"race {values} {first}")
    twin = [peeled(values, bottom, rate, first, slow) for _ in range(1200)]
    raced = [race(values, bottom, rate, first, fast) for _ in range(1200)]
    if len(law) == 1:
        assert set(twin) == set(raced)
    else:
        accepts(g_test(*as_numbers(twin, law)))
        accepts(same_law_test(as_numbers(twin, law)[0], as_numbers(raced, law)[0]))


@pytest.mark.parametrize(("values", "first"), [([3, 2, 1], 2), ([5, 5], 3), ([2**62, 2**62 - 2], 1)], ids=range(3))
def test_without_a_bottom_nobody_but_the_labels_takes_part(values: list[int], first: int) -> None:
    # A bottom that is drawn once in e^100 has the same law, but for the end: all labels come out.
    drawn = exact_law(values, min(values) - Fraction(100), Fraction(1), first)
    law = {out: chance for (out, _), chance in drawn.items() if len(out) == min(first, len(values))}
    bits = KnownBits(f"no bottom {values} {first}")
    ranked = [first_in_race(np.array(values, dtype=np.int64), None, Fraction(1), first, bits) for _ in range(2500)]
    assert not any(stopped for _, stopped in ranked)
    accepts(g_test(*as_numbers([tuple(order.tolist()) for order, _ in ranked], law)))


def test_without_a_bottom_a_race_of_nobody_ends_at_once() -> None:
    order, stopped = first_in_race(np.zeros(0, dtype=np.int64), None, Fraction(1), 3, ScriptedBits())
    assert len(order) == 0
    assert not stopped


@pytest.mark.parametrize(("rate", "bottom"), [("1.25", "2"), ("1", "2.3")])
def test_a_slightly_wrong_race_is_noticed(rate: str, bottom: str) -> None:
    bits = KnownBits(f"wrong race {rate} {bottom}")
    law = exact_law([3, 2, 1], Fraction(2), Fraction(1), 2)
    wrong = [race([3, 2, 1], Fraction(bottom), Fraction(rate), 2, bits) for _ in range(4000)]
    rejects(g_test(*as_numbers(wrong, law)))


@races
def test_runners_who_are_drawn_a_few_at_a_time_arrive_in_the_same_order(
    values: list[int], bottom: Fraction, rate: Fraction, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(100):
        whole = race(values, bottom, rate, first, KnownBits(f"{seed}"))
        with monkeypatch.context() as changed:
            changed.setattr(gumbel, "_AT_ONCE", 2)
            assert race(values, bottom, rate, first, KnownBits(f"{seed}")) == whole


def test_equal_values_may_be_said_once() -> None:
    values, times = np.array([9, 4, 5]), np.array([1, 3, 2])
    for seed in range(100):
        once = first_in_race(values, Fraction(6), Fraction(1), 3, KnownBits(f"{seed}"), times)
        each = first_in_race(np.repeat(values, times), Fraction(6), Fraction(1), 3, KnownBits(f"{seed}"))
        assert (once[0].tolist(), once[1]) == (each[0].tolist(), each[1])


def test_many_runners_are_filtered_without_losing_one() -> None:
    # 400 equal scores: each is as likely as any other to be among the first three, first or last in the list.
    bits = KnownBits("many runners")
    seen = [race([7] * 400, 7, Fraction(1, 2), 3, bits) for _ in range(1500)]
    stopped = [one[1] for one in seen]
    p = 1 - (400 / 401) * (399 / 400) * (398 / 399)
    accepts(mean_test(stopped, p, p * (1 - p)))
    places = [place // 40 for order, _ in seen for place in order]
    accepts(g_test(places, dict.fromkeys(range(10), 0.1)))


@pytest.mark.parametrize("far", [2**70, 10**30])
def test_a_bottom_far_above_or_below(far: int) -> None:
    bits = KnownBits("far")
    assert all(race([1, 2**62], far, 1, 3, bits) == ((), True) for _ in range(50))
    orders = [race([1, 5], -far, 1, 2, bits) for _ in range(50)]
    assert all(not stopped and sorted(order) == [0, 1] for order, stopped in orders)
    assert race([1, 5], -far, 1, 3, bits) in (((0, 1), True), ((1, 0), True))


def test_nobody_but_bottom() -> None:
    assert race([], 3, 1, 4, KnownBits("nobody")) == ((), True)


def test_counts_near_the_largest_keep_their_differences() -> None:
    # As doubles 2^62 and 2^62 + 1 are equal; the race must tell them apart.
    bits = KnownBits("near 2^62")
    first = [race([2**62, 2**62 + 1], 0, 2, 1, bits) == ((1,), False) for _ in range(2500)]
    p = 1 / (1 + math.exp(-2))
    accepts(mean_test(first, p, p * (1 - p)))
    rejects(mean_test(first, 0.5, 0.25))


def script(first_words: list[int], *more: int) -> ScriptedBits:
    """Script the first 64 bits of every runner's u, ⊥ last, then what is drawn when these do not suffice."""
    return ScriptedBits(np.array(first_words, dtype=np.uint64).tobytes(), *[w.to_bytes(8, "big") for w in more])


MIDDLE = 0x9E3779B97F4A7C15


def test_clear_comparisons_draw_no_more_bits() -> None:
    bits = script([MIDDLE, MIDDLE // 2])
    assert race([4], 4, 1, 2, bits) == ((0,), True)
    assert bits.unused == 0
    assert race([4], 4, 1, 2, script([MIDDLE // 2, MIDDLE])) == ((), True)


@pytest.mark.parametrize("word", [MIDDLE, 1 << 63, 1 << 21, WORD - (1 << 21)])
def test_equal_bits_are_decided_by_the_next_ones(word: int) -> None:
    # Equal scores and equal first bits: whoever has the larger u arrives first.
    outcomes = set()
    for more in ((5, 10**18), (10**18, 5)):
        bits = script([word, word], *more)
        outcomes.add(race([4], 4, 1, 2, bits))
        assert bits.unused == 0, "one more word each"
    assert outcomes == {((0,), True), ((), True)}


def test_bits_that_stay_equal_are_drawn_until_they_part() -> None:
    outcomes = set()
    for last in ((3, 2**60), (2**60, 3)):
        # 64 bits, then 64 more, then 128 more: equal but for the last word.
        bits = script([MIDDLE, MIDDLE], 77, 77, 88, last[0], 88, last[1])
        outcomes.add(race([4], 4, 1, 2, bits))
        assert bits.unused == 0
    assert outcomes == {((0,), True), ((), True)}


@pytest.mark.parametrize(("value", "bottom", "rate"), [(7, "5", "1/3"), (2**62, "4611686018427387900.5", "0.9")])
@pytest.mark.parametrize("word", [MIDDLE, (1 << 30) + 12345, WORD - (1 << 30) + 54321])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_near_tie_of_different_scores_is_decided_exactly(
    value: int, bottom: str, rate: str, word: int, side: int
) -> None:
    """Place ⊥'s u within 2^-88 of where its arrival would tie with the other's, on either side."""
    gap = real(Fraction(rate) * (value - Fraction(bottom)))
    tie = int(mp.floor(mp.exp(mp.log(mp.mpf(word) / WORD) * mp.exp(-gap)) * mp.mpf(2) ** 128))
    theirs = tie + side * 2**40
    for first in (1, 2):
        # Sorting two compares the second with the first, so ⊥'s bits are sharpened first.
        bits = script([word, theirs >> 64], theirs & (WORD - 1), 0)
        outcome = race([value], Fraction(bottom), Fraction(rate), first, bits)
        assert bits.unused == 0
        # A larger u arrives earlier.
        assert outcome == (((), True) if side > 0 else ((0,), first == 2))


@pytest.mark.parametrize(("edge", "late"), [(0, True), (WORD - 1, False)])
def test_bits_at_the_edge_are_never_trusted_to_a_float(edge: int, late: bool) -> None:
    # 64 zeros: u is tiny and arrives very late; 64 ones: u is nearly 1 and arrives at once. Both say so exactly.
    more = 1 << 50
    bits = script([edge, MIDDLE], 0, more)
    outcome = race([4], 4, 1, 2, bits)
    assert outcome == (((), True) if late else ((0,), True))
    assert bits.unused == 0


def test_128_zeros_in_a_row_are_drawn_past() -> None:
    bits = script([0, MIDDLE], 0, 0, 0, 0, 1 << 40, 1 << 40)
    assert race([4], 4, 1, 2, bits) == ((), True)
    assert bits.unused == 0
