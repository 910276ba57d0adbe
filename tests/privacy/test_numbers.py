"""A caller's number is read as the decimal it prints, or refused by name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.high_precision import quick

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import exact, failure_probability, not_negative, positive, whole

NO_NUMBERS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    np.float64("nan"),
    np.float32("inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    "nan",
    "-inf",
    "1e999999999",
    "1e-999999999",
    "0e999999999",
    "",
    "one",
    "1/3",
    "0x10",
    True,
    False,
    np.True_,
    None,
    1j,
    b"1",
    [1],
    np.array([1.0]),
    10**301,
    -(10**5000),
    Fraction(10**301, 7),
]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=[type(value).__name__ for value in NO_NUMBERS])
def test_what_is_not_a_finite_number_is_refused(value: object) -> None:
    for read in (exact, positive, not_negative, failure_probability):
        with pytest.raises(InvalidArgumentError, match=r"^rho = .+ is not allowed: it must be a finite number\.$"):
            read("rho", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1e-8, Fraction(1, 10**8)),
        (1e22, Fraction(10**22)),
        (5e-324, Fraction(5, 10**324)),
        (2.5e-310, Fraction(25, 10**311)),
        (-0.0, Fraction(0)),
        (3, Fraction(3)),
        (10**300, Fraction(10**300)),
        ("0.3", Fraction(3, 10)),
        (" 1e-9 ", Fraction(1, 10**9)),
        ("-2", Fraction(-2)),
        (Decimal("0.1000"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.5), Fraction(1, 2)),
        (np.int64(7), Fraction(7)),
        (np.uint8(200), Fraction(200)),
    ],
    ids=repr,
)
def test_numbers_are_read_as_they_print(value: Any, expected: Fraction) -> None:
    read = exact("rho", value)
    assert read == expected
    assert type(read) is Fraction


@quick
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_float_and_its_text_are_the_same_number(value: float) -> None:
    assert exact("x", value) == exact("x", repr(value)) == exact("x", np.float64(value)) == Fraction(repr(value))


@pytest.mark.parametrize("value", [0, -0.0, -1e-9, "-0.0", Fraction(-1, 3)])
def test_positive_refuses_zero_and_below(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^epsilon = .+ must be above 0\.$"):
        positive("epsilon", value)


def test_the_smallest_float_is_positive() -> None:
    assert positive("epsilon", 5e-324) > 0
    assert not_negative("rho", 0) == 0
    with pytest.raises(InvalidArgumentError, match=r"^rho = -5e-324 .+ 0 or above\.$"):
        not_negative("rho", -5e-324)


@pytest.mark.parametrize("value", [0, 0.5, 1, -1e-9, 2, "0.50000000000000000000001"])
def test_a_delta_that_promises_nothing_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^delta = .+ above 0 and below 1/2\. Usual values"):
        failure_probability("delta", value)


def test_a_delta_just_inside_is_read() -> None:
    assert failure_probability("delta", 5e-324) == Fraction(5, 10**324)
    assert failure_probability("delta", "0.49999999999999999999999999") < Fraction(1, 2)


@pytest.mark.parametrize("value", [0, -3, 1.0, 1.5, "1", True, None, np.float64(2), Fraction(2)])
def test_whole_refuses_what_is_not_whole_or_too_small(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^k = .+ must be a whole number, 1 or above\.$"):
        whole("k", value)


def test_whole_reads_whole_numbers_of_any_make() -> None:
    assert [whole("k", value) for value in (1, np.int8(3), np.uint64(2**63), 10**400)] == [1, 3, 2**63, 10**400]
    assert whole("k", 0, at_least=0) == 0
    assert type(whole("k", np.int64(3))) is int
    with pytest.raises(InvalidArgumentError, match="2 or above"):
        whole("k", 1, at_least=2)
    with pytest.raises(InvalidArgumentError, match=r"^k = a number of very many digits is not allowed"):
        whole("k", -(10**5000))


def test_the_error_carries_its_parts() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        positive("epsilon", -1)
    assert (caught.value.argument, caught.value.value, caught.value.allowed) == ("epsilon", -1, "above 0")
    assert isinstance(caught.value, ValueError)
