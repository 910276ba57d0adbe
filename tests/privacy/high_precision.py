"""True values to 120 digits, and what it means to bound one tightly from the stated side."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
from hypothesis import settings
from hypothesis import strategies as st

mp: Any = mpmath.MPContext()
mp.dps = 120

TIGHT = Fraction(1, 10**30)

quick = settings(deadline=None, max_examples=60)
slow = settings(deadline=None, max_examples=16)


def real(x: Fraction | int | str) -> Any:
    """Return a number at full precision; a text is read as the decimal it is."""
    number = Fraction(x)
    return mp.mpf(number.numerator) / number.denominator


def just_above(bound: Fraction, value: Any, within: Fraction = TIGHT) -> None:
    """Fail unless a bound lies strictly above a true value, by less than a relative `within` of it."""
    excess = (real(bound) - value) / abs(value)
    assert 0 < excess < real(within), f"relative excess {mp.nstr(excess, 5)} is not in (0, {float(within):g})"


def just_below(bound: Fraction, value: Any, within: Fraction = TIGHT) -> None:
    """Fail unless a bound lies strictly below a true value, by less than a relative `within` of it."""
    excess = (value - real(bound)) / abs(value)
    assert 0 < excess < real(within), f"relative shortfall {mp.nstr(excess, 5)} is not in (0, {float(within):g})"


def same_digits(value: Fraction | float, printed: str) -> None:
    """Fail unless a value agrees with a printed reference value up to one unit of its last digit."""
    digits = printed.lower().split("e")[0].replace(".", "").replace("-", "").lstrip("0")
    unit = Fraction(10) ** (_exponent(printed) - len(digits) + 1)
    assert abs(Fraction(value) - Fraction(printed)) <= unit, f"{float(value)!r}, not {printed}"


def _exponent(printed: str) -> int:
    return int(f"{float(printed):.20e}".split("e")[1])


def sizes(smallest: int, largest: int) -> st.SearchStrategy[Fraction]:
    """Return positive numbers of every order of magnitude between 10^smallest and 10^largest."""
    return st.builds(
        lambda digits, exponent: Fraction(digits, 10**6) * Fraction(10) ** exponent,
        st.integers(10**6, 10**7),
        st.integers(smallest, largest - 1),
    )
