"""Labels, then their counts: the law of the whole, its price, its calibration, and what its answer says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction

import numpy as np
import pytest
from tests.audit.repeatable import repeatable
from tests.fixtures.known_bits import KnownBits
from tests.statistical.goodness import Verdict, accepts, g_test, rejects

from unlisted.audit.exact import exact_audit
from unlisted.audit.laws.find_then_count import (
    best_in_full,
    find_then_count_law,
)
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.lemma import Verdict as Audited
from unlisted.audit.subject import Pair
from unlisted.audit.subjects.find_then_count import find_then_count_batch, find_then_count_subject
from unlisted.audit.subjects.labels import oracle_of
from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import UNIT, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_count import (
    COUNTS_SHARE,
    LABELS_SHARE,
    SIZES_SHARE,
    FindThenCount,
    FoundTop,
)
from unlisted.noise.gaussian.gaussian_dp import (
    mu_squared_of_discrete_gaussian_up,
    mu_squared_of_gaussian_counts_up,
)
from unlisted.noise.gaussian.normal import normal_delta_up
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.rounding import log_down
from unlisted.privacy.sensitivity import Adjacency

HALF = Fraction(1, 2)


def selection(
    items: int = 2, variance: int = 1, threshold: int = 6, hint: int = 2, adjacency: Adjacency = "add_remove"
) -> LabelSelection:
    weighing = Weighing(items, adjacency=adjacency)
    first = LabelRound(weighing, Fraction(2 * variance), 2 * threshold * UNIT, hint * UNIT)
    return LabelSelection((first, LabelRound(weighing, Fraction(variance), threshold * UNIT)))


def mechanism(grain: int = 1, counts: Fraction = HALF, **kept: object) -> FindThenCount:
    return FindThenCount(selection(**kept), HALF, counts, grain)


def compared(outputs: Counter[Hashable], law: OutputLaw) -> Verdict:
    """Number the outcomes by how likely they are, so that rare ones are pooled with rare ones."""
    ranked = sorted(law.at_least, key=lambda outcome: (law.at_least[outcome], repr(outcome)))
    number = {outcome: place for place, outcome in enumerate(ranked)}
    return g_test(
        [number.get(output, -1) for output in outputs.elements()],
        {number[outcome]: float(chance) for outcome, chance in law.at_least.items()},
    )


CROWD = {"a": 3, "ab": 6}


def test_what_is_released_follows_the_law_of_the_whole_chain() -> None:
    chosen, bits = mechanism(), repeatable("find then count")()
    outputs = Counter[Hashable]()
    for _ in range(1500):
        answer = chosen.release(oracle_of(CROWD), bits)
        rows = tuple(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))
        outputs[tuple(one["users"] for one in answer.extras["user_sizes"]), rows] += 1
    many = find_then_count_batch(chosen, repeatable("many"))(CROWD, 30_000)
    right, wrong = (find_then_count_law(chosen, crowd) for crowd in (CROWD, {"a": 3, "ab": 7}))
    for found in (outputs, many):
        accepts(compared(found, right))
        rejects(compared(found, wrong))


@pytest.mark.parametrize("at", ["0.5", "1"])
def test_no_neighbour_of_one_label_needs_more_than_is_claimed_at_epsilon(at: str) -> None:
    """The (ε, δ) of all three steps as one normal law, against the exact law: two rounds, sizes, counts."""
    rounds = selection(items=1, variance=9, threshold=9, hint=4)
    whole = FindThenCount(rounds, Fraction(4), Fraction(1), grain=2, at_epsilon=Fraction(at))
    pairs = [Pair(f"{n} users of a", {"a": n}, {"a": n + 1}) for n in (0, 4, 9, 14)]
    subject = find_then_count_subject("one label", whole)
    audited = exact_audit(type(subject)(subject.name, subject.claim, lambda: pairs, subject.run, subject.law))
    assert audited.verdict is Audited.holds
    used = [float(finding.direct.high) for _, finding in audited.findings if finding.direct is not None]
    assert len(used) == 4
    assert 0.3 < max(used) / float(whole.delta_at(Fraction(at))) <= 1


def test_prices_add_up_and_hints_sizes_and_counts_have_theirs() -> None:
    chosen = FindThenCount(selection(), Fraction(25), Fraction(9))
    promised = chosen.guarantee()
    assert promised.rho == chosen.selection.guarantee().rho + Fraction(1, 50) + Fraction(1, 18)
    assert promised.delta == chosen.selection.failure()
    assert promised.direct is None
    exchanged = FindThenCount(selection(adjacency="replace"), Fraction(25), Fraction(9))
    assert exchanged.guarantee().rho == 2 * promised.rho
    assert exchanged.guarantee().delta == 2 * promised.delta


def test_the_delta_at_epsilon_is_that_of_one_normal_law_and_what_escapes() -> None:
    epsilon = Fraction(2)
    chosen = FindThenCount(selection(), Fraction(25), Fraction(9), at_epsilon=epsilon)
    moved = sum(one.mu_squared for one in chosen.selection.rounds) + Fraction(1, 25) + Fraction(1, 9)
    assert moved < chosen.mu_squared() < moved * Fraction(1005, 1000)
    failure = chosen.selection.failure()
    expected = failure + normal_delta_up(chosen.mu_squared(), epsilon + log_down(1 - failure))
    assert chosen.guarantee().direct.delta == expected


@pytest.mark.parametrize("in_full", [1, 2, 7, 100])
def test_no_choice_of_the_bound_costs_more_than_the_first(in_full: int) -> None:
    chosen = mechanism(grain=8, counts=Fraction(3))
    of_counts = mu_squared_of_gaussian_counts_up(chosen.counts_law(1, 8).variance, 64, 2**40)
    larger = mu_squared_of_gaussian_counts_up(chosen.counts_law(in_full, 8).variance, 64 * in_full, 2**40)
    assert larger <= of_counts
    assert chosen.counts_law(in_full, 8).rho(8) * in_full == chosen.counts_rho


def test_a_vector_costs_what_as_many_equal_moves_of_its_length_cost() -> None:
    variance = Fraction(40)
    equal = mu_squared_of_discrete_gaussian_up(variance, 4, 3)
    assert mu_squared_of_gaussian_counts_up(variance, 36, 4) == equal
    # Fewer counts that move farther: the same length, and less slack.
    assert Fraction(36, 40) < mu_squared_of_gaussian_counts_up(variance, 36, 1) <= equal
    assert mu_squared_of_gaussian_counts_up(variance, 0, 4) == 0


def crowd_of(busy: int, quiet: int) -> ListedWeights:
    """Users of all twenty labels, and users of one."""
    labels = [f"l{i:02}" for i in range(20)]
    people = {f"b{u}": labels for u in range(busy)} | {f"q{u}": [labels[u % 20]] for u in range(quiet)}
    return ListedWeights(people)


def test_nobody_s_items_are_dropped_and_counts_are_of_all_users() -> None:
    """With next to no noise every count is the true one, though users have ten times the items looked at."""
    loud = FindThenCount(selection(threshold=20, hint=5), Fraction("0.01"), Fraction("1e-6"), grain=64)
    answer = loud.release(crowd_of(busy=400, quiet=2000), KnownBits("all"))
    assert answer.counts.tolist() == [500] * 20
    assert answer.labels.to_pylist() == [f"l{i:02}" for i in range(20)]
    assert answer.extras["items_in_full"] == 20
    assert answer.extras["hidden_on_average"] == answer.extras["hidden_at_most"] == 0


def test_what_scaling_hides_is_said_and_intervals_are_of_the_scaled_count() -> None:
    """So much noise that D1 is small: 400 users of 20 labels count for √(D1/20) each."""
    noisy = FindThenCount(selection(threshold=20, hint=5), Fraction(1), Fraction(10**4))
    answer = noisy.release(crowd_of(busy=400, quiet=2000), KnownBits("scaled"))
    in_full = answer.extras["items_in_full"]
    assert in_full < 20
    scaled = 400 * math.sqrt(in_full / 20) + 100
    low, high = noisy.intervals(answer)
    inside = np.count_nonzero((low <= scaled) & (scaled <= high))
    assert inside >= 16
    assert answer.extras["hidden_on_average"] == pytest.approx(500 - scaled, abs=30)
    least, most = answer.extras["hidden_on_average_between"]
    assert 0 < least <= 500 - scaled <= most <= answer.extras["hidden_at_most"]
    half = noisy.accuracy().half_widths
    assert half[10] == pytest.approx(math.sqrt(10) * half[1], rel=0.02)
    assert (high - answer.counts).max() == math.ceil(1.96 * 100 * math.sqrt(in_full) + 0.5)
    assert low.min() >= 0


def test_how_often_intervals_hold_the_scaled_count() -> None:
    chosen = mechanism(grain=4, counts=Fraction(9), threshold=6)
    bits, inside, shown = KnownBits("intervals"), 0, 0
    for _ in range(400):
        answer = chosen.release(oracle_of({"ab": 40, "a": 5}), bits)
        grain, in_full = chosen.grain_for(len(answer)), answer.extras["items_in_full"]
        of_both = math.isqrt(grain**2 * in_full // 2) / grain if len(answer) == 2 and in_full < 2 else 1
        true = {"a": 40 * of_both + 5, "b": 40 * of_both}
        low, high = chosen.intervals(answer)
        for label, least, most in zip(answer.labels.to_pylist(), low, high, strict=True):
            inside, shown = inside + (least <= true[label] <= most), shown + 1
    assert shown == 800
    # 95 % and a little, for the rounding: 760 expected of 800, with a deviation of 6.
    assert 735 <= inside <= 800


@pytest.mark.parametrize("table", [{}, {"u": []}, {"u": ["a"]}])
def test_nothing_found_is_an_answer(table: dict[str, list[str]]) -> None:
    answer = mechanism(threshold=50).release(ListedWeights(table), KnownBits("nothing"))
    assert len(answer) == 0
    assert answer.extras == {
        "items_in_full": 1,
        "user_sizes": [],
        "hidden_on_average": 0,
        "hidden_on_average_between": [0, 0],
        "hidden_at_most": 0,
    }


def test_the_grain_is_fine_enough_for_whoever_has_every_label() -> None:
    chosen = mechanism(grain=2)
    assert [chosen.grain_for(labels) for labels in (0, 3, 4, 99, 100)] == [2, 2, 3, 10, 11]
    for labels in (3, 4, 99, 100):
        assert chosen.grain_for(labels) ** 2 >= labels


def test_counts_are_rounded_to_whole_users() -> None:
    assert best_in_full(mechanism(), ("a", "b"), (500, 0)) == 1
    quiet = FindThenCount(selection(), Fraction("0.01"), Fraction("1e-6"), grain=100)
    # 11 users of both labels count for ⌊100/√2⌋ = 70 grains each: 7.7, and 8 when rounded.
    people = {f"{u}": ["a", "b"] for u in range(11)} | {f"x{u}": ["a"] for u in range(10**4)}
    steered = FindThenCount(quiet.selection, quiet.sizes_variance, Fraction("0.01"), grain=100)
    answer = steered.release(ListedWeights(people), KnownBits("rounded"))
    assert answer.extras["items_in_full"] in (1, 2)
    assert answer.counts.tolist()[1] in (8, 11)


class TestCalibration:
    @pytest.mark.parametrize(
        ("budget", "one_shot"),
        [
            (Budget(epsilon=1, delta="1e-8"), True),
            (Budget(epsilon=1, delta="1e-8"), False),
            (Budget(epsilon="0.1", delta="1e-6"), True),
            (Budget(epsilon=5, delta="1e-10"), True),
            (Budget(rho="0.02", delta="1e-8"), True),
        ],
    )
    @pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
    def test_a_budget_is_used_up_and_not_more(self, budget: Budget, one_shot: bool, adjacency: Adjacency) -> None:
        found = FindThenCount.for_budget(budget, Weighing(100, adjacency=adjacency), one_shot=one_shot)
        promised = found.mechanism.guarantee()
        assert budget.allows(promised)
        assert (promised.direct is not None) == (budget.epsilon is not None and one_shot)
        if budget.rho is not None:
            assert promised.rho > Fraction(999, 1000) * budget.rho
        else:
            assert promised.epsilon(budget.delta) > Fraction(99, 100) * budget.epsilon

    def test_every_step_has_its_share(self) -> None:
        chosen = FindThenCount.for_budget(Budget(rho="0.02", delta="1e-8"), Weighing(100)).mechanism
        rho = chosen.guarantee().rho
        parts = chosen.selection.guarantee().rho, chosen.sizes_rho, chosen.counts_rho
        assert [float(part / rho) for part in parts] == pytest.approx([0.7, 0.01, 0.29], rel=1e-5)
        assert LABELS_SHARE + SIZES_SHARE + COUNTS_SHARE == 1
        described = chosen.describe()
        shares = {"labels": 0.7, "sizes": 0.01, "counts": 0.29}
        rounds = [0.014, 0.14, 0.546]
        assert sum(rounds) == pytest.approx(shares["labels"])
        assert described.parameters == {
            "items_looked_at": 100,
            "shares_of_rho": shares,
            "shares_of_rounds": rounds,
        }
        assert described.name == "find_then_count"

    def test_one_shot_needs_less_than_the_way_through_rho(self) -> None:
        budget = Budget(epsilon=1, delta="1e-8")
        once, paid = (FindThenCount.for_budget(budget, Weighing(100), one_shot=way) for way in (True, False))
        assert once.mechanism.selection.last.threshold < paid.mechanism.selection.last.threshold
        assert once.mechanism.counts_variance < paid.mechanism.counts_variance
        assert "by its exact δ" in once.reason
        assert "by ρ converted" in paid.reason

    def test_users_needed_are_said_for_one_ten_and_a_hundred_items(self) -> None:
        accuracy = FindThenCount.for_budget(Budget(epsilon=1, delta="1e-8"), Weighing(100)).mechanism.accuracy()
        assert list(accuracy.between) == [10]
        assert accuracy.at_best[50] < accuracy.between[10][50] < accuracy.needed[50]
        few = FindThenCount.for_budget(Budget(epsilon=1, delta="1e-8"), Weighing(5)).mechanism.accuracy()
        assert few.between == {}


@pytest.mark.parametrize("budget", [{"epsilon": 1000, "delta": 1e-8}, {"rho": 1000, "delta": 1e-8}])
def test_a_budget_too_large_for_noise_is_refused_by_its_own_name(budget: dict[str, float]) -> None:
    name = next(iter(budget))
    with pytest.raises(InvalidArgumentError, match=rf"^{name} = 1000 is not allowed: .* ask for less") as refused:
        FindThenCount.for_budget(Budget(**budget), Weighing(100))
    assert "variance" not in str(refused.value)


def test_a_selection_with_an_epsilon_of_its_own_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at_epsilon"):
        FindThenCount(LabelSelection(selection().rounds, Fraction(1)), HALF, HALF)
    with pytest.raises(InvalidArgumentError, match="counts_variance"):
        FindThenCount(selection(), HALF, Fraction(0))
    with pytest.raises(InvalidArgumentError, match="grain"):
        mechanism(grain=0)


@pytest.mark.parametrize("k", [1, 2, 9])
def test_the_first_k_are_those_of_the_whole_answer(k: int) -> None:
    """The same bits give the same answer, of which a ranking is the beginning."""
    for number in range(20):
        whole = mechanism().release(oracle_of(CROWD), KnownBits(f"first {number}"))
        for counts in (True, False):
            first = FoundTop(mechanism(), k, counts).release(oracle_of(CROWD), KnownBits(f"first {number}"))
            assert first.labels.to_pylist() == whole.labels.to_pylist()[:k]
            assert first.stopped == (len(whole) < k)
            assert first.spent == whole.spent
            assert (first.counts is not None and first.counts.tolist() == whole.counts.tolist()[:k]) == counts
            assert first.extras == (whole.extras if counts else {})
