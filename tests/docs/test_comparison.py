"""The comparison at the same promise: the page says what was measured, and measuring a part keeps the rest."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from bench import accuracy_page
from bench.everything import PART
from bench.peer_scripts.scores import Counts, laplace_chance, worth_noise
from bench.utility.array_weights import ArrayWeights
from bench.utility.bounded_tables import TABLES
from bench.utility.promise_records import Score, Setting, read, write
from tests.docs.scripts import DOCS

from unlisted.counts.weight_oracle import ListedWeights, WeightOracle
from unlisted.counts.weights import UNIT, Weighing

if TYPE_CHECKING:
    from pathlib import Path

USERS = {0: [0, 1, 2], 1: [0], 2: [0, 2, 3], 3: [1], 4: [0, 1, 2, 3], 5: [4]}


def score(system: str, released: list[float], bound: int | None = 1, errors: list[float] | None = None) -> Score:
    setting = Setting(TABLES[0], "1", "1e-8", bound)
    told = {"released": released, "recall_20": [0.5, 0.5], "recall_100": [0.5, 0.5], "error": [], "top_error": []}
    return Score.of(system, "0.1", setting, {**told, "true_error": errors or []})


@pytest.mark.parametrize("name", ["accuracy", "better"])
def test_the_page_says_what_was_measured(name: str) -> None:
    rows = accuracy_page.measured()
    written = {"accuracy": accuracy_page.table, "better": accuracy_page.better}[name](rows)
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    (on_page,) = (found["body"] for found in PART.finditer(page) if found["name"] == name)
    assert on_page.strip() == written


def test_every_lead_of_a_peer_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    mine = score("unlisted, histogram", [10, 11, 12], None, [5, 5, 5])
    write(path, [mine, score("OpenDP, Laplace", [30, 31, 32], errors=[9, 9, 9])])
    assert "| demo | 1 | 1e-8 | 1 | OpenDP, Laplace | 31.0 ± 2.5 | 11.0 ± 2.5 |  |" in accuracy_page.better(
        read(path)
    )
    write(path, [mine, score("unlisted, histogram at a bound", [33, 33])])
    assert "31.0 ± 2.5 | 11.0 ± 2.5 | 33.0 ± 0.0 |" in accuracy_page.better(read(path))
    # The other way round there is nothing to list.
    write(path, [score("OpenDP, Laplace", [3, 4, 5], errors=[9, 9, 9])])
    assert "Where a peer is better" not in accuracy_page.better(read(path))
    # Nor where it is ahead by less than the intervals.
    write(path, [score("OpenDP, Laplace", [1, 13, 25], errors=[9, 9, 9])])
    assert "Where a peer is better" not in accuracy_page.better(read(path))
    # Of errors the smaller one is better, at whichever bound.
    write(path, [score("OpenDP, Laplace", [3, 4, 5], 50, errors=[2, 2, 2])])
    assert "| 50 | OpenDP, Laplace | 2.0 ± 0.0 | 5.0 ± 0.0 |  |" in accuracy_page.better(read(path))


def test_a_peer_is_shown_at_its_best_bound_and_at_the_documented_one(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    cells = [score("OpenDP, Laplace", [10.0 * bound] * 2, bound) for bound in (1, 10, 50)]
    write(path, [score("unlisted, histogram", [70, 70], None), *cells])
    shown = accuracy_page.table(read(path))
    assert "| unlisted, histogram, no bound | 70.0 |" in shown
    assert "| OpenDP, Laplace, best bound | 500 (50) |" in shown
    assert "| OpenDP, Laplace, documented bound | 100 (10) |" in shown


def test_the_page_says_which_cells_were_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    write(path, [score("OpenDP, Laplace", [1, 2], bound) for bound in (1, 2, 3, 5, 50)])
    said = accuracy_page.table(read(path))
    missing = (
        "ε = 0.5, δ = 1e-6; ε = 0.5, δ = 1e-8; ε = 1, δ = 1e-6; ε = 1, δ = 1e-8 with bounds 10; ε = 3, δ = 1e-8"
    )
    assert f"| OpenDP | demo | {missing} |" in said
    assert "| OpenDP | W1 | everything |" in said
    assert "| unlisted | demo | everything |" in said


def test_a_part_that_is_measured_again_replaces_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    first = [score("unlisted, histogram", [1, 2], None), score("OpenDP, Laplace", [3, 4])]
    write(path, [*first, score("OpenDP, Laplace", [5, 6], 3)])
    write(path, [score("OpenDP, Gaussian", [7, 8])])
    assert [(row["system"], row["items_per_user"], row["released"]) for row in read(path)] == [
        ("unlisted, histogram", "none", "1.5"),
        ("OpenDP, Gaussian", "1", "7.5"),
        ("OpenDP, Laplace", "3", "5.5"),
    ]


def test_errors_are_against_the_bounded_count_and_against_the_truth() -> None:
    table = Counts(counts=[30, 20, 5], truths=[100, 20, 50], places=[0, 2, 1])
    found = table.scores([{0: 31.0, 1: 17.0}, {}])
    assert found["released"] == [2, 0]
    assert found["recall_20"] == found["recall_100"] == [2 / 3, 0]
    assert found["error"] == [2.0]
    assert found["true_error"] == [36.0]
    # What is not released counts as 0.
    assert found["top_error"] == [(69 + 3 + 50) / 3, (100 + 20 + 50) / 3]


def test_counts_are_left_out_only_while_they_hardly_matter() -> None:
    # 50 counts of 30 are 50 labels, of which one in 5,000 is 0.01. At a scale of 1, a count of 1 reaches 11 with a
    # chance of e^-10 = 4.5e-5: 220 of them make 0.01 of a label.
    chance = laplace_chance(1.0, 11)
    assert worth_noise(50 * [30] + 200 * [1], chance) == 50 * [30]
    assert worth_noise(50 * [30] + 1000 * [1], chance) == 50 * [30] + 780 * [1]


def arrays() -> ArrayWeights:
    pairs = [(user, item) for user, items in USERS.items() for item in items]
    users, items = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
    return ArrayWeights(users, items, np.random.default_rng(1))


def weighed(oracle: WeightOracle, bound: int) -> dict[int, int]:
    oracle.weigh(Weighing(bound))
    buckets, ranks = places(oracle)
    labels, weights = oracle.named(buckets, ranks)
    return dict(zip(labels.to_pylist(), weights.tolist(), strict=True))


def places(oracle: WeightOracle) -> tuple[np.ndarray, np.ndarray]:
    there = [(bucket, rank) for bucket, size in sorted(oracle.buckets(UNIT, 50).items()) for rank in range(size)]
    return tuple(np.array(there, dtype=np.int64).reshape(-1, 2).T)


def test_weights_in_arrays_are_those_of_plain_python() -> None:
    fast, slow = arrays(), ListedWeights(USERS)
    assert weighed(fast, 4) == weighed(slow, 4)
    for oracle in (fast, slow):
        buckets, ranks = places(oracle)
        heaviest = buckets == buckets.max()
        oracle.take_out(buckets[heaviest], ranks[heaviest])
    assert weighed(fast, 4) == weighed(slow, 4)
    assert fast.sizes_of_users() == slow.sizes_of_users()
    weights = np.array([9, 5, 3, 2])
    for one, other in (
        (fast.scaled_counts_of_taken(weights), slow.scaled_counts_of_taken(weights)),
        (fast.counts_of_taken(), slow.counts_of_taken()),
    ):
        assert one.labels.to_pylist() == other.labels.to_pylist()
        assert one.counts.tolist() == other.counts.tolist()
    for oracle in (fast, slow):
        buckets, ranks = places(oracle)
        oracle.keep_in_play(buckets[:1], ranks[:1])
    assert weighed(fast, 4) == weighed(slow, 4)


def test_heavy_users_keep_as_many_items_as_they_may_and_any_of_them() -> None:
    seen = Counter[int]()
    fast = arrays()
    for _ in range(200):
        weights = weighed(fast, 1)
        # Six users, each with the whole weight on one item.
        assert sum(weights.values()) == 6 * UNIT
        seen.update(weights.keys())
    assert set(seen) == {0, 1, 2, 3, 4}
