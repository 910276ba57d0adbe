"""Every refusal says what is wrong and what to do, keeps its parts, and never goes on at length."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from unlisted import errors
from unlisted.errors import ChargedFailureError, InvalidArgumentError, UnlistedError


def test_every_error_has_one_root_and_is_listed() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(kind, UnlistedError) for kind in kinds)
    defined = {
        kind.__name__
        for kind in vars(errors).values()
        if isinstance(kind, type) and kind.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


def test_a_bad_argument_is_named_with_value_and_range() -> None:
    error = InvalidArgumentError("k", 0, "a whole number, 1 or above", "Ask for at least one.")
    assert str(error) == "k = 0 is not allowed: it must be a whole number, 1 or above. Ask for at least one."
    assert (error.argument, error.value, error.allowed) == ("k", 0, "a whole number, 1 or above")
    assert isinstance(error, ValueError)


def test_an_argument_that_was_not_given_is_missing() -> None:
    error = InvalidArgumentError("--delta", None, "given with --rho", "For example: --delta 1e-6")
    assert str(error) == "--delta is missing: it must be given with --rho. For example: --delta 1e-6"
    assert (error.argument, error.value, error.allowed) == ("--delta", None, "given with --rho")
    assert str(InvalidArgumentError("k", None, "1 or above")) == "k = None is not allowed: it must be 1 or above."
    assert str(InvalidArgumentError("k", 3, "given alone")) == "k = 3 is not allowed: it must be given alone."


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(1, 4), "0.25"),
        (Fraction(7), "7"),
        ("text", "'text'"),
        ("x" * 100, "'" + "x" * 56 + "..."),
        (10**400, "1" + "0" * 56 + "..."),
        (10**5000, "a number of very many digits"),
        (Fraction(10**5000), "a number of very many digits"),
        (Fraction(10**400, 3), "a number of very many digits"),
    ],
    ids=["fraction", "whole", "text", "long text", "large", "huge", "huge fraction", "large fraction"],
)
def test_values_are_shown_shortly(value: object, shown: str) -> None:
    assert str(InvalidArgumentError("x", value, "small")) == f"x = {shown} is not allowed: it must be small."


def test_a_failure_after_data_was_touched_says_always_the_same() -> None:
    assert str(ChargedFailureError()) == "could not be answered; charged; see the log"


class Column:
    """Something like a column of a data frame: it can be gone through, and showing it shows rows."""

    def __iter__(self) -> Iterator[str]:
        return iter(["alice", "bob"])

    def __repr__(self) -> str:
        return "0    alice\n1      bob"


@pytest.mark.parametrize(
    "value",
    [Column(), [Column()], {"x": Column()}, np.array(["alice", "bob"]), pa.array(["alice", "bob"])],
    ids=str,
)
def test_no_message_shows_what_could_be_rows(value: object) -> None:
    message = str(InvalidArgumentError("item", value, "the name of a column"))
    assert "alice" not in message
    assert f"item = a {type(value).__name__} is not allowed" in message


@pytest.mark.parametrize("value", ["name", ["a", "b"], ("a",), {"age": "int"}, 3, None, np.float64(2.5)])
def test_what_a_caller_wrote_is_still_shown(value: object) -> None:
    assert repr(value) in str(InvalidArgumentError("item", value, "something else"))
