"""The arithmetic of a running histogram's tree, against counting."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.continual.binary_reference import covered, nodes_of

from unlisted.mechanisms.continual.binary.tree import (
    MOST_EXACT,
    _most_squares_up,
    largest_popcount,
    most_squares,
    nodes_of_one_step,
    spread_by_popcount,
    steps_with_popcount,
)


def used_nodes(steps: int) -> set[tuple[int, int]]:
    return {node for t in range(1, steps + 1) for node in nodes_of(t)}


@pytest.mark.parametrize("steps", [*range(1, 40), 63, 64, 255, 256, 365])
def test_steps_by_popcount(steps: int) -> None:
    for ones in range(12):
        brute = sum(t.bit_count() == ones for t in range(1, steps + 1))
        assert steps_with_popcount(ones, steps) == brute
    assert largest_popcount(steps) == max(t.bit_count() for t in range(1, steps + 1))


@pytest.mark.parametrize("steps", [*range(1, 20), 31, 32, 33, 100])
def test_nodes_of_one_step(steps: int) -> None:
    used = used_nodes(steps)
    holding = [sum(r in covered(*node) for node in used) for r in range(1, steps + 1)]
    assert nodes_of_one_step(steps) == max(holding) == holding[0] == most_squares(1, steps)


@given(st.integers(1, 10**9))
def test_popcounts_add_up_to_all_steps(steps: int) -> None:
    most = largest_popcount(steps)
    assert sum(steps_with_popcount(ones, steps) for ones in range(1, most + 1)) == steps
    assert steps_with_popcount(most, steps) > 0
    assert steps_with_popcount(most + 1, steps) == 0


@pytest.mark.parametrize("steps", range(1, 10))
@pytest.mark.parametrize("rounds_in_step", [1, 2, 3])
def test_the_heaviest_way_to_fall_into_nodes_is_found(steps: int, rounds_in_step: int) -> None:
    """Every choice of C rounds, for every C: what one unit weighs in all nodes that are ever used."""
    rounds = range(1, steps * rounds_in_step + 1)
    blocks = [set(covered(*node)) for node in used_nodes(steps)]
    step_of = {r: -(-r // rounds_in_step) for r in rounds}
    for c in range(1, min(len(rounds), 5) + 1):
        brute = max(
            sum(sum(step_of[r] in block for r in chosen) ** 2 for block in blocks)
            for chosen in combinations(rounds, c)
        )
        assert most_squares(c, steps, rounds_in_step) == brute <= _most_squares_up(c, steps, rounds_in_step)


@given(st.integers(1, 200) | st.integers(MOST_EXACT + 1, 10**6), st.integers(1, 10**6), st.integers(1, 100))
def test_it_is_never_above_the_simple_bound(c: int, steps: int, rounds_in_step: int) -> None:
    """As if all C rounds lay in all m nodes of one step."""
    c = min(c, steps * rounds_in_step)
    assert c <= most_squares(c, steps, rounds_in_step) <= nodes_of_one_step(steps) * c**2
    assert most_squares(1, steps, rounds_in_step) == nodes_of_one_step(steps)


def test_it_is_lower_where_rounds_cannot_all_share_their_nodes() -> None:
    """A year of days: thirty of them weigh half of what the simple bound says."""
    assert (most_squares(2, 365), most_squares(30, 365)) == (33, 4095)
    assert nodes_of_one_step(365) * 30**2 == 8100


@given(st.integers(1, 1000), st.integers(0, 500), st.integers(1, 10**6))
def test_thresholds_stand_equally_many_deviations_up(lowest: int, above: int, steps: int) -> None:
    thresholds = spread_by_popcount(lowest + above, lowest, steps)
    most = largest_popcount(steps)
    assert len(thresholds) == most
    assert thresholds[-1] == lowest + above
    assert list(thresholds) == sorted(thresholds)
    for ones, threshold in enumerate(thresholds, start=1):
        wanted = above * (ones / most) ** 0.5
        assert wanted - 1e-6 <= threshold - lowest <= wanted + 1 + 1e-6
