"""Numbers as pages write them."""

from __future__ import annotations

import pytest

from unlisted.server.console.rendering import figure, titled


@pytest.mark.parametrize(
    ("number", "written"),
    [(98, "98"), (12345, "12,345"), ("all", "all"), (24.65711, "24.6572"), (24.6571, "24.6571"), (36.0, "36")],
)
def test_a_threshold_is_not_written_lower_than_it_is(number: int | float | str, written: str) -> None:
    assert figure(number) == written


def test_an_answer_of_a_kind_that_is_not_known_still_has_a_title() -> None:
    assert (titled("labels"), titled("something new")) == ("Values", "Answer")
