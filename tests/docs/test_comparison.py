"""The comparison at the same promise: the page says what was measured, and measuring a part keeps the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench import accuracy_page
from bench.everything import PART
from bench.peer_scripts.scores import laplace_chance, worth_noise
from bench.utility.bounded_tables import TABLES
from bench.utility.promise_records import Score, Setting, interval, read, write
from tests.docs.scripts import DOCS

if TYPE_CHECKING:
    from pathlib import Path


def score(system: str, released: list[float], items: int = 1) -> Score:
    setting = Setting(TABLES[0], "1", "1e-8", items)
    return Score(system, "0.1", setting, len(released), None, interval(released), (0.5, 0.1), None)


@pytest.mark.parametrize("name", ["accuracy", "better"])
def test_the_page_says_what_was_measured(name: str) -> None:
    rows = accuracy_page.measured()
    written = {"accuracy": accuracy_page.table, "better": accuracy_page.better}[name](rows)
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    (on_page,) = (found["body"] for found in PART.finditer(page) if found["name"] == name)
    assert on_page.strip() == written


def test_every_lead_of_a_peer_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    write(path, [score("unlisted, histogram (auto)", [10, 11, 12]), score("OpenDP, Laplace", [30, 31, 32])])
    assert "| demo | 1 | 1e-8 | 1 | OpenDP, Laplace | 31.0 ± 2.5 | 11.0 ± 2.5 |" in accuracy_page.better(
        read(path)
    )
    # The other way round there is nothing to list.
    write(path, [score("OpenDP, Laplace", [3, 4, 5])])
    assert "| OpenDP, Laplace | 4.0" not in accuracy_page.better(read(path))
    # Nor where it is ahead by less than the intervals.
    write(path, [score("OpenDP, Laplace", [1, 13, 25])])
    assert "| OpenDP, Laplace | 13.0" not in accuracy_page.better(read(path))


def test_a_part_that_is_measured_again_replaces_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    first = [score("unlisted, histogram (auto)", [1, 2]), score("OpenDP, Laplace", [3, 4])]
    write(path, [*first, score("OpenDP, Laplace", [5, 6], items=3)])
    write(path, [score("OpenDP, Gaussian", [7, 8])])
    assert [(row["system"], row["items_per_user"], row["released"]) for row in read(path)] == [
        ("unlisted, histogram (auto)", "1", "1.5"),
        ("OpenDP, Gaussian", "1", "7.5"),
        ("OpenDP, Laplace", "3", "5.5"),
    ]


def test_counts_are_left_out_only_while_they_hardly_matter() -> None:
    # 50 counts of 30 are 50 labels, of which one in 5,000 is 0.01. At a scale of 1, a count of 1 reaches 11 with a
    # chance of e^-10 = 4.5e-5: 220 of them make 0.01 of a label.
    chance = laplace_chance(1.0, 11)
    assert worth_noise(50 * [30] + 200 * [1], chance) == 50 * [30]
    assert worth_noise(50 * [30] + 1000 * [1], chance) == 50 * [30] + 780 * [1]
