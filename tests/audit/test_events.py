"""What is seen in an output, and which event is chosen."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from unlisted.audit.events import WHOLE, Event, best_event, by_view, plain, seen
from unlisted.audit.subject import BOTTOM


def test_rows_are_seen_by_presence_order_and_count() -> None:
    views = seen((("soup", 12), ("bread", 7)))
    assert views["who is there"] == {"soup", "bread"}
    assert views["the order"] == ("soup", "bread")
    assert views["how many are there"] == 2
    assert (views["the count of 'soup'"], views["the count of 'bread'"]) == (12, 7)
    assert views["the sum of all counts"] == 19
    assert "the count of 'salt'" not in views


def test_a_ranking_is_seen_by_places() -> None:
    views = seen(("soup", "bread", BOTTOM))
    assert views["the place of 'bread'"] == 2
    assert views["the place of None"] == 3


def test_several_answers_are_seen_one_by_one_and_together() -> None:
    views = seen(((("soup", 5),), (), (("soup", 6), ("salt", 1))))
    assert views["the count of 'soup' in answer 1"] == 5
    assert views["who is there in answer 2"] == frozenset()
    assert views["how often 'soup' came"] == 2
    assert views["the sum of the count of 'soup'"] == 11
    assert views["who is there"] == ({"soup"}, frozenset(), {"soup", "salt"})


def test_a_noisy_threshold_is_seen_beside_its_rows() -> None:
    views = seen((9, (("soup", 12),)))
    assert views["the number in answer 1"] == 9
    assert views["the count of 'soup' in answer 2"] == 12


@pytest.mark.parametrize(("number", "last"), [(0.5, 1), (0.75, 2), (3.0, 0), (2.0**-60, 60), (-0.0, 0)])
def test_the_last_binary_digit_of_a_float_is_seen(number: float, last: int) -> None:
    assert seen(number)["the last binary digit of the output"] == last


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_without_digits_are_only_themselves(number: float) -> None:
    assert list(seen(number)) == [WHOLE]


@pytest.mark.parametrize(
    ("output", "hashable"),
    [
        ({"b": 2, "a": 1}, (("a", 1), ("b", 2))),
        ([["a", 1], ["b"]], (("a", 1), ("b",))),
        (np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4))),
        ({1, 2}, frozenset({1, 2})),
        ((1, (2, 3)), (1, (2, 3))),
        ((1, [2]), (1, (2,))),
        (bytearray(b"x"), "bytearray(b'x')"),
    ],
)
def test_outputs_of_any_kind_can_be_counted(output: object, hashable: object) -> None:
    assert plain(output) == hashable


def test_events_hold_where_they_say() -> None:
    tally = Counter({(("a", 3),): 5, (("a", 4),): 6, (): 7})
    assert Event("the count of 'a'", least=4).times(tally) == 6
    assert Event("the count of 'a'", most=3).times(tally) == 5
    assert Event("who is there", frozenset({frozenset()})).times(tally) == 7
    assert Event(WHOLE).times(tally) == 0
    assert str(Event("the count of 'a'", least=4)) == "the count of 'a' is 4 or more"
    assert str(Event("the count of 'a'", most=3)) == "the count of 'a' is 3 or less"
    assert str(Event("the order", frozenset({("a",)}))) == "the order is ('a',)"
    assert str(Event("the order", frozenset({("a",), ("b",)}))) == "the order is one of 2 values"


def test_the_event_that_tells_most_is_chosen_for_either_side() -> None:
    sides = by_view(Counter({0: 90, 1: 10}), Counter({0: 20, 1: 80}))

    def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (one - other).astype(float)

    left, right = (best_event(sides, sides, side, difference) for side in (0, 1))
    assert (left.event.holds(0), left.event.holds(1), left.score) == (True, False, 70.0)
    assert (right.event.holds(0), right.event.holds(1), right.score) == (False, True, 70.0)


def test_values_seen_once_are_no_proof() -> None:
    """Two samples of the same law with all values different: ranked and scored by one sample, all would tell."""
    first, second = (
        by_view(Counter(f"{n} left {i}" for i in range(100)), Counter(f"{n} right {i}" for i in range(100)))
        for n in ("first", "second")
    )

    def ratio(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return one - 2.0 * other

    assert best_event(first, first, 0, ratio).score == 100
    assert best_event(first, second, 0, ratio).score <= 0
