"""The exact (ε, δ) of Algorithm 1: against the theory, every outcome of small worlds, and what a budget buys."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.mechanisms.promises import hockey_stick
from tests.mechanisms.small_worlds import Thresholding, Window, mass_of, neighbours

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.sparse_histogram import sparse_delta_up
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.tails import shift_delta_up
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.rounding import any_of_up, log_down
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.privacy.survey import sparse_histogram_delta


def worst_of_all(mechanism: ThresholdHistogram, labels: int, largest: int, epsilon: float) -> float:
    """The exact δ over all neighbours of a small world, and every set of outcomes."""
    law = mechanism.law
    assert isinstance(law, DiscreteGaussian)
    reach = 10 + int(9 * law.stddev)
    world = Thresholding(mechanism.threshold, mass_of(law), Window(mechanism.threshold + 1, largest + reach))
    pairs = neighbours(labels, largest, mechanism.sensitivity)
    laws = {h: world.law(h) for pair in pairs for h in pair}
    return max(hockey_stick(laws[h], laws[other], epsilon) for h, other in pairs)


@pytest.mark.parametrize(
    ("items", "variance", "beyond", "epsilon"),
    [(200, 8, 10, "0.1"), (100, 8, 8, "0.1")],
)
def test_no_number_of_new_labels_is_worse(items: int, variance: int, beyond: int, epsilon: str) -> None:
    """Here the worst user is neither all new nor all moved, and lies between two that are looked at."""
    law, e = DiscreteGaussian(Fraction(variance)), Fraction(epsilon)
    one = law.tail(beyond)
    lowered = e + log_down(1 - any_of_up(one, items))
    every = [
        any_of_up(one, new) + shift_delta_up(items - new, 1, law.variance, lowered) for new in range(items + 1)
    ]
    assert max(every) not in (every[0], every[-1])
    assert max(every) <= sparse_delta_up(law, one, Sensitivity(items), e) <= max(every) * Fraction(258, 256)


@pytest.mark.parametrize(
    ("variance", "threshold", "sensitivity", "labels", "largest"),
    [
        ("1", 2, Sensitivity(1), 2, 4),
        ("1", 4, Sensitivity(2), 2, 4),
        ("4", 5, Sensitivity(2), 2, 6),
        ("2.5", 4, Sensitivity(1, 2), 2, 6),
        ("3", 5, Sensitivity(2, 2), 2, 5),
        ("1", 3, Sensitivity(1, 1, "replace"), 2, 4),
        ("1.5", 4, Sensitivity(1, 2, "replace"), 2, 4),
        ("0.5", 2, Sensitivity(3), 3, 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("epsilon", ["0.25", "1", "2"])
def test_no_neighbours_differ_by_more(
    variance: str, threshold: int, sensitivity: Sensitivity, labels: int, largest: int, epsilon: str
) -> None:
    e = Fraction(epsilon)
    mechanism = ThresholdHistogram(DiscreteGaussian(Fraction(variance)), threshold, sensitivity, 1, e)
    found = worst_of_all(mechanism, labels, largest, float(e))
    promised = mechanism.guarantee().direct
    assert promised.epsilon == e
    assert found <= float(promised.delta) + 1e-9


def test_little_is_given_away() -> None:
    """With small δ the bound is all but attained, whichever is worse: what is new, or what moves."""
    for variance, threshold, epsilon in (("1", 6, "3"), ("4", 9, "1.5"), ("1", 3, "3.5")):
        law = DiscreteGaussian(Fraction(variance))
        mechanism = ThresholdHistogram(law, threshold, Sensitivity(2), 1, Fraction(epsilon))
        # Counts far above the threshold show all there is to see of what moves.
        found = worst_of_all(mechanism, 2, threshold + 3 * int(law.variance) + 3, float(epsilon))
        assert found <= float(mechanism.delta_at(Fraction(epsilon))) <= 1.05 * found


@pytest.mark.parametrize(
    ("sigma", "threshold", "items", "printed"),
    [("5.2", 30, 1, 1.22405028110e-8), ("16.5", 98, 10, 2.06640779801e-8)],
)
def test_the_continuous_reference_is_near(sigma: str, threshold: int, items: int, printed: float) -> None:
    # The theory's numbers are for continuous noise above T; a whole number above T is one at T + 1.
    assert sparse_histogram_delta(1, float(sigma), threshold, items) == pytest.approx(printed, rel=1e-10)
    law = DiscreteGaussian(Fraction(sigma) ** 2)
    ours = ThresholdHistogram(law, threshold, Sensitivity(items)).delta_at(Fraction(1))
    continuous = sparse_histogram_delta(1, float(sigma), threshold + 0.5, items)
    assert float(ours) == pytest.approx(continuous, rel=0.1)


@settings(max_examples=25)
@example(12, "0.5", 60, "1", "add_remove")  # an escape so seldom that any number of labels is within reach
@example(2, "2", 53, "0.1", "add_remove")
@given(
    st.integers(1, 12),
    st.sampled_from(["0.5", "2", "30", "300"]),
    st.integers(0, 60),
    st.sampled_from(["0.1", "1", "3"]),
    st.sampled_from(["add_remove", "replace"]),
)
def test_every_number_of_new_labels_is_covered(
    items: int, variance: str, above: int, epsilon: str, adjacency: str
) -> None:
    """The loop that skips gives what one that does not skip gives, and a 256th more where it may."""
    sensitivity = Sensitivity(items, 1, adjacency)
    law, e = DiscreteGaussian(Fraction(variance)), Fraction(epsilon)
    mechanism = ThresholdHistogram(law, 1 + above, sensitivity)
    one = law.tail(above + 1)
    together = any_of_up(one, items)
    lowered = e + log_down(1 - together)
    moved = sensitivity.sides * items
    each = [any_of_up(one, j) + shift_delta_up(moved - j, 1, law.variance, lowered) for j in range(items + 1)]
    found = mechanism.delta_at(e)
    assert min(Fraction(1), max(each)) <= found <= min(Fraction(1), max(each)) * (1 + Fraction(1, 250))


def test_the_worst_may_be_in_between() -> None:
    """The example of the proof: neither all new nor all moved."""
    law, e, one = DiscreteGaussian(Fraction(4)), Fraction(1, 2), Fraction(1, 10)
    lowered = e + log_down(1 - any_of_up(one, 2))
    each = [float(any_of_up(one, j) + shift_delta_up(2 - j, 1, law.variance, lowered)) for j in range(3)]
    assert each[1] > max(each[0], each[2]) * 1.05


class TestForBudget:
    BUDGET = Budget(epsilon=1, delta="1e-8")

    @pytest.mark.parametrize(("items", "threshold"), [(1, 30), (2, 42), (3, 52), (10, 98), (100, 325)])
    def test_thresholds_are_the_theory_s(self, items: int, threshold: int) -> None:
        found = ThresholdHistogram.for_budget(self.BUDGET, Sensitivity(items), "gaussian")
        assert found.mechanism.threshold == threshold
        assert found.reason.startswith(f"discrete Gaussian (by its exact δ) has the lowest threshold, {threshold}")
        assert self.BUDGET.allows(found.mechanism.guarantee())

    def test_less_noise_or_a_lower_threshold_would_not_fit(self) -> None:
        found = ThresholdHistogram.for_budget(self.BUDGET, Sensitivity(10), "gaussian").mechanism
        law = DiscreteGaussian(found.law.variance * (1 - Fraction(1, 10**5)))
        assert ThresholdHistogram(law, found.threshold, Sensitivity(10)).delta_at(Fraction(1)) > self.BUDGET.delta
        lower = ThresholdHistogram(found.law, found.threshold - 1, Sensitivity(10))
        assert lower.delta_at(Fraction(1)) > self.BUDGET.delta

    def test_replace_costs_more(self) -> None:
        plain, replace = (
            ThresholdHistogram.for_budget(self.BUDGET, Sensitivity(10, 1, adjacency), "gaussian").mechanism
            for adjacency in ("add_remove", "replace")
        )
        assert plain.threshold < replace.threshold < 1.5 * plain.threshold
        assert self.BUDGET.allows(replace.guarantee())

    def test_from_an_account_the_price_stays(self) -> None:
        """An account counts ρ, and the lower threshold would cost more of it."""
        sensitivity = Sensitivity(10)
        once = ThresholdHistogram.for_budget(self.BUDGET, sensitivity).mechanism
        paid = ThresholdHistogram.for_budget(self.BUDGET, sensitivity, one_shot=False).mechanism
        assert paid.threshold > once.threshold
        assert paid.guarantee().rho < once.guarantee().rho
        assert paid.guarantee().direct is None

    @settings(max_examples=12)
    @given(
        st.sampled_from([1, 4, 50, 400]),
        st.integers(1, 3),
        st.sampled_from(["add_remove", "replace"]),
        st.sampled_from(["0.05", "1", "8"]),
        st.sampled_from(["0.3", "1e-3", "1e-12"]),
    )
    def test_every_budget_is_kept(self, items: int, count: int, adjacency: str, epsilon: str, delta: str) -> None:
        budget = Budget(epsilon=epsilon, delta=delta)
        found = ThresholdHistogram.for_budget(budget, Sensitivity(items, count, adjacency), "gaussian")
        assert budget.allows(found.mechanism.guarantee())


def test_other_laws_do_not_know_their_delta() -> None:
    mechanism = ThresholdHistogram(DiscreteLaplace(1), 19, Sensitivity(1), 1, Fraction(1))
    assert not mechanism.knows_delta
    assert mechanism.guarantee() == ThresholdHistogram(DiscreteLaplace(1), 19, Sensitivity(1)).guarantee()
    with pytest.raises(InvalidArgumentError, match="law = "):
        mechanism.delta_at(Fraction(1))
