"""What every mechanism obeys that releases one number, whatever the number is of."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.conformance.registry import TOTALS, TotalSubject
from tests.conformance.test_guarantees import moved
from tests.conformance.test_inputs import Untouched
from tests.fixtures.known_bits import KnownBits

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

each = pytest.mark.parametrize("total", TOTALS, ids=lambda total: total.name)


@each
def test_a_guarantee_is_exact_and_needs_no_delta(total: TotalSubject) -> None:
    promised = total.noisy.guarantee()
    assert isinstance(promised.rho, Fraction)
    assert promised.rho > 0
    assert promised.delta == 0
    assert 3 * promised == promised + promised + promised
    assert total.noisy.mu_squared() > 0


@pytest.mark.parametrize(
    ("total", "name"),
    [(one, name) for one in TOTALS for name in one.knobs],
    ids=lambda one: getattr(one, "name", one),
)
def test_the_price_moves_with_each_parameter_as_it_should(total: TotalSubject, name: str) -> None:
    knob = total.knobs[name]
    prices = [total.make(**{name: value}).guarantee() for value in knob.values]
    for before, after in pairwise(prices):
        assert moved(knob.rho, before.rho, after.rho)
        assert before.delta == after.delta == 0


@each
def test_a_total_of_hardly_any_noise_is_the_total(total: TotalSubject) -> None:
    for value in (0, 1, 5000, LARGEST_COUNT):
        answer = total.quiet.release(BoundedTotal(value, 1), KnownBits("total"))
        assert answer.counts.tolist() == [value]
        assert answer.spent == total.quiet.guarantee()
        low, high = total.quiet.intervals(answer)
        assert low[0] <= value <= high[0]


@each
def test_a_total_is_never_shown_below_zero_or_wrapped_around(total: TotalSubject) -> None:
    for value in (0, LARGEST_COUNT, 2**70):
        shown = [total.noisy.release(BoundedTotal(value, 1), KnownBits(f"{at}")).counts[0] for at in range(40)]
        assert min(shown) >= 0
        assert value == 0 or min(shown) > LARGEST_COUNT // 2
        assert len(set(shown)) > 1


@each
@pytest.mark.parametrize("raw", [5000, [5000], np.array([5000]), BoundedCounts(["a"], [5], Sensitivity(1)), None])
def test_raw_numbers_cannot_reach_noise(total: TotalSubject, raw: object) -> None:
    with pytest.raises(InvalidCountsError):
        total.noisy.release(raw, Untouched())


@each
def test_a_total_that_moves_more_than_was_priced_is_refused(total: TotalSubject) -> None:
    with pytest.raises(InvalidCountsError, match="priced for"):
        total.noisy.release(BoundedTotal(987654, total.noisy.shift + 1), Untouched())
    assert "987654" not in repr(BoundedTotal(987654, 1))


@pytest.mark.parametrize("value", [-1, 1.5, "1", None, float("nan"), True])
def test_what_is_no_total_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgumentError):
        BoundedTotal(value, 1)


@each
def test_a_mechanism_says_itself_and_gets_what_it_needs(total: TotalSubject) -> None:
    described = total.noisy.describe()
    assert described.name.isidentifier()
    assert described.threshold is None
    assert total.noisy.accuracy().half_width > 0
    assert total.noisy.encoding() != total.quiet.encoding()
    assert total.quiet.run(Source(), KnownBits("source")).counts.tolist() == [70]


@each
@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize(
    "budget",
    [Budget(epsilon=1, delta="1e-8"), Budget(rho="0.05", delta="1e-9"), Budget(mu_squared=1, delta="1e-9")],
)
def test_calibration_stays_inside_the_budget(total: TotalSubject, budget: Budget, one_shot: bool) -> None:
    found = type(total.noisy).for_budget(budget, Sensitivity(3), one_shot=one_shot)
    assert budget.allows(found.mechanism.full_guarantee())
    assert not one_shot or budget.epsilon is None or found.mechanism.guarantee().direct.epsilon <= 1


class Source:
    """Seventy of everything."""

    def user_count(self) -> AbstractContextManager[BoundedTotal]:
        return nullcontext(BoundedTotal(70, 1))

    def distinct_values(self) -> AbstractContextManager[BoundedTotal]:
        return nullcontext(BoundedTotal(70, 1))
