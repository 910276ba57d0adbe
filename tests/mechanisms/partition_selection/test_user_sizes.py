"""How much a user may count for: public classes, weights no longer than paid for, a D1 that helps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.mechanisms.partition_selection.user_sizes import (
    SizesOfUsers,
    by_class,
    size_ends,
    weights_of_sizes,
)


@pytest.mark.parametrize(
    ("labels", "ends"),
    [
        (0, []),
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (5, [1, 2, 3, 4, 5]),
        (16, [1, 2, 3, 4, 6, 8, 12, 16]),
        (20, [1, 2, 3, 4, 6, 8, 12, 16, 20]),
        (30, [1, 2, 3, 4, 6, 8, 12, 16, 24, 30]),
    ],
)
def test_classes_end_with_whoever_has_all_labels(labels: int, ends: list[int]) -> None:
    assert size_ends(labels) == ends


@given(st.integers(1, 10**7))
def test_classes_are_few_and_rise(labels: int) -> None:
    ends = size_ends(labels)
    assert ends == sorted(set(ends))
    assert ends[-1] == labels
    assert len(ends) <= 2 * labels.bit_length() + 1


@given(st.dictionaries(st.integers(1, 40), st.integers(0, 5)))
def test_every_user_is_in_one_class(sizes: dict[int, int]) -> None:
    ends = size_ends(40)
    users = by_class(sizes, ends)
    assert users.sum() == sum(sizes.values())
    before = 0
    for end, n in zip(ends, users.tolist(), strict=True):
        assert n == sum(times for size, times in sizes.items() if before < size <= end)
        before = end


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([20, 64, 1024]))
def test_no_user_s_weights_are_longer_than_what_is_paid_for(labels: int, in_full: int, grain: int) -> None:
    weights = weights_of_sizes(labels, in_full, grain)
    assert len(weights) == labels
    for m, weight in enumerate(weights.tolist(), 1):
        assert m * weight**2 <= in_full * grain**2
        # The largest whole number of which that is true, and never more than all.
        assert weight == grain or m * (weight + 1) ** 2 > in_full * grain**2
        assert (weight == grain) == (m <= in_full)
        assert weight >= 1


def test_weights_rounded_up_would_be_longer() -> None:
    assert weights_of_sizes(3, 1, 2).tolist() == [2, 1, 1]
    assert 3 * math.ceil(2 / math.sqrt(3)) ** 2 == 12 > 1 * 2**2


def test_busy_users_ask_for_a_larger_bound_and_their_noise_does_not() -> None:
    ends = tuple(size_ends(100))

    def best(users: dict[int, int]) -> int:
        return SizesOfUsers(ends, tuple(by_class(users, ends).tolist()), 50.0).best_in_full(10.0)

    assert best({1: 10_000}) == 1
    assert best({1: 10_000, 60: 1_000}) > best({1: 10_000, 8: 1_000}) > 1
    # As many as noise alone may show, in every class.
    assert best({1: 10_000} | dict.fromkeys(ends[1:], 90)) == 1


@pytest.mark.parametrize("in_full", [1, 2, 5, 16])
def test_what_is_hidden_is_what_weights_leave_out(in_full: int) -> None:
    """With one size a class, the classes are exact."""
    sizes = SizesOfUsers((1, 2, 3, 4), (7, 5, 3, 2), 0.0)
    left_out = [1 - min(Fraction(1), Fraction(math.sqrt(in_full / m))) for m in sizes.ends]
    in_all = sum(n * m * left for m, n, left in zip(sizes.ends, sizes.users, left_out, strict=True))
    assert sizes.hidden(in_full) == pytest.approx(float(in_all))
    assert sizes.hidden_between(in_full) == pytest.approx((float(in_all), float(in_all)))
    at_most = sum(n * left for n, left in zip(sizes.users, left_out, strict=True))
    assert sizes.hidden_at_most(in_full) == pytest.approx(float(at_most))


def test_noise_alone_hides_nothing_for_certain() -> None:
    """Users of one label each, and noise of 50 on every class: it is not said that anything is hidden."""
    rng, ends = np.random.default_rng(5), size_ends(200)
    held = 0
    for _ in range(400):
        noise = rng.normal(0, 50, len(ends)).round().astype(int)
        least, _ = SizesOfUsers(
            tuple(ends), tuple((by_class({1: 9_000}, ends) + noise).tolist()), 50.0
        ).hidden_between(1)
        held += least == 0
    assert held >= 380
    busy = SizesOfUsers(tuple(ends), tuple(by_class({1: 9_000, 64: 3_000}, ends).tolist()), 50.0)
    least, most = busy.hidden_between(1)
    assert 0 < least < 3_000 * (64 - 8) < most


def test_no_labels_have_no_sizes() -> None:
    nothing = SizesOfUsers((), (), 1.0)
    assert (nothing.best_in_full(1.0), nothing.hidden(1), nothing.hidden_at_most(1)) == (1, 0, 0)
    assert nothing.hidden_between(1) == (0, 0)
    assert nothing.classes == []
