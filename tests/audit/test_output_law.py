"""Laws are lower bounds, and what they are short of one is known."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from unlisted.audit.laws.output_law import OutputLaw, independent
from unlisted.errors import InvalidArgumentError

THIRD = Fraction(1, 3)


def test_chances_are_rounded_down_and_the_rest_is_missing() -> None:
    law = OutputLaw.exactly({"a": THIRD, "b": THIRD})
    assert Fraction(law.at_least["a"]) < THIRD
    assert THIRD < Fraction(law.missing) < THIRD + Fraction(1, 10**45)


def test_ways_to_the_same_outcome_add_up() -> None:
    law = OutputLaw.adding_up([("a", Decimal("0.25")), ("b", Decimal("0.5")), ("a", Decimal("0.25"))])
    assert law.at_least == {"a": Decimal("0.5"), "b": Decimal("0.5")}
    assert law.missing == 0


def test_an_output_may_decide_what_follows() -> None:
    coin = OutputLaw({"heads": Decimal("0.5"), "tails": Decimal("0.5")})
    both = coin.then(lambda first: coin if first == "heads" else OutputLaw({"over": Decimal(1)}))
    assert both.at_least[("tails", "over")] == Decimal("0.5")
    assert both.at_least[("heads", "tails")] == Decimal("0.25")
    assert both.seen_as(lambda pair: pair[1]).at_least["heads"] == Decimal("0.25")


def test_independent_outputs_multiply() -> None:
    coin = OutputLaw({0: Decimal("0.25"), 1: Decimal("0.75")})
    heads = independent([coin, coin, coin], sum)
    assert heads.at_least[3] == Decimal("0.421875")
    assert heads.at_least[1] == 3 * Decimal("0.046875")


def test_what_is_missing_stays_missing() -> None:
    short = OutputLaw({0: Decimal("0.9")})
    assert independent([short, short], tuple).missing == Decimal("0.19")
    assert short.then(lambda _: short).missing == Decimal("0.19")


@pytest.mark.parametrize("chances", [{"a": Decimal("0.7"), "b": Decimal("0.7")}, {"a": Decimal("-0.1")}])
def test_what_is_no_law_is_refused(chances: dict[str, Decimal]) -> None:
    with pytest.raises(InvalidArgumentError, match="together at most 1"):
        OutputLaw(chances)
