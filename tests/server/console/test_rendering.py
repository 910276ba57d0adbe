"""Numbers and labels as pages write them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from unlisted.server.console.rendering import allowed, cost, figure, label, measured, titled


@pytest.mark.parametrize(
    ("number", "written"),
    [(98, "98"), (12345, "12,345"), ("all", "all"), (24.65711, "24.6572"), (24.6571, "24.6571"), (36.0, "36")],
)
def test_a_threshold_is_not_written_lower_than_it_is(number: int | float | str, written: str) -> None:
    assert figure(number) == written


def test_a_mean_is_written_as_it_is_and_not_rounded_up() -> None:
    assert [measured(one) for one in (1175.711, -0.5, 1400)] == ["1,175.711", "-0.500", "1,400"]


def test_an_answer_of_a_kind_that_is_not_known_still_has_a_title() -> None:
    assert (titled("labels"), titled("something new")) == ("Values", "Answer")


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("1000", "1,000"),
        ("12345678", "12,400,000"),
        ("0.00025", "0.00025"),
        ("0.1", "0.1"),
        ("1e-8", "1e-8"),
        ("3.2e-12", "3.2e-12"),
        ("0", "0"),
    ],
)
def test_numbers_are_written_as_people_do(amount: str, written: str) -> None:
    assert cost(Fraction(amount)) == written


def test_what_may_be_spent_is_rounded_down_and_a_cost_up() -> None:
    assert (allowed(Fraction("999.99")), cost(Fraction("999.99"))) == ("999", "1,000")
    assert (allowed(Fraction("0.12345")), cost(Fraction("0.12345"))) == ("0.123", "0.124")


@pytest.mark.parametrize(
    "text",
    ["Z" + "\u0334\u0321" * 40, "\U0001f469\u200d\U0001f467" * 24, "\u202e" * 2 + "\u2066\u2069" * 30],
    ids=["marks", "families", "directions"],
)
def test_a_value_that_is_mostly_numbers_is_folded(text: str) -> None:
    folded = str(label(text))
    begins = folded.partition("</summary>")[0]
    assert folded.startswith("<details")
    assert begins.count('class="unseen"') <= 16
    assert f"{len(text):,} characters" in begins


def test_a_value_with_a_few_of_them_is_not() -> None:
    assert "<details" not in str(label("left\u202eright and a family \U0001f469\u200d\U0001f467"))
