"""Who is protected, and how much one of them can change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.sensitivity import Sensitivity


def test_one_side_for_add_remove_and_two_for_replace() -> None:
    assert Sensitivity(3).sides == 1
    assert Sensitivity(3, adjacency="replace").sides == 2


@pytest.mark.parametrize(
    ("items", "adjacency", "labels", "one_side", "moved"),
    [
        (3, "add_remove", 10, 3, 3),
        (3, "add_remove", 2, 2, 2),
        (3, "replace", 10, 3, 6),
        (3, "replace", 5, 3, 5),
        (3, "replace", 2, 2, 2),
        (None, "add_remove", 10, 10, 10),
        (None, "replace", 10, 10, 10),
    ],
)
def test_labels_that_change(items: int | None, adjacency: Any, labels: int, one_side: int, moved: int) -> None:
    sensitivity = Sensitivity(items, adjacency=adjacency)
    assert sensitivity.items_within(labels) == one_side
    assert sensitivity.coordinates_within(labels) == moved


def test_a_missing_bound_is_asked_for_with_the_reason() -> None:
    assert Sensitivity(4).require_items("A histogram") == 4
    with pytest.raises(InvalidArgumentError, match=r"^items = None .+ A histogram needs a bound on the items"):
        Sensitivity(None).require_items("A histogram")


def test_whole_numbers_of_any_make_are_plain_inside() -> None:
    made = Sensitivity(np.int64(3), np.uint8(2))  # type: ignore[arg-type]
    assert made == Sensitivity(3, 2)
    assert type(made.items) is type(made.count) is int


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sensitivity(0), "items = 0 .+ a whole number, 1 or above"),
        (lambda: Sensitivity(-1), "items = -1 "),
        (lambda: Sensitivity(1.5), "items = 1.5 "),
        (lambda: Sensitivity(items=True), "items = True "),
        (lambda: Sensitivity("3"), "items = '3' "),
        (lambda: Sensitivity(1, 0), "count = 0 .+ a whole number, 1 or above"),
        (lambda: Sensitivity(1, None), "count = None "),
        (lambda: Sensitivity(1, float("nan")), "count = nan "),
        (lambda: Sensitivity(1, adjacency="both"), "adjacency = 'both' .+ 'add_remove' or 'replace'"),
        (lambda: Sensitivity(1, adjacency=[]), r"adjacency = \[\] "),
    ],
)
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        call()
