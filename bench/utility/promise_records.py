"""What was measured at the same promise, kept in a file: a part that is measured again replaces itself."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from bench.utility.bounded_tables import TABLES, Rows

SIDES = ("unlisted", "OpenDP", "PipelineDP", "PyDP", "Tumult Analytics")
"""Who is compared, in the order of the reports. A system's name begins with one of these and a comma."""

T_95 = {20: 2.093, 10: 2.262, 5: 2.776, 3: 4.303, 2: 12.706}
"""Student's 97.5 % quantile for the mean of so many runs; above 20 the one of 20 is on the safe side."""


@dataclass(frozen=True)
class Setting:
    """One cell of the comparison."""

    rows: Rows
    epsilon: str
    delta: str
    items_per_user: int


Interval = tuple[float, float]
"""A mean, and half the width of its 95 % confidence interval."""


def interval(values: list[float]) -> Interval:
    """Return the mean of some runs with its confidence interval."""
    if len(values) < 2:
        return mean(values), float("inf")
    quantile = T_95[max(known for known in T_95 if known <= len(values))]
    return mean(values), quantile * stdev(values) / len(values) ** 0.5


@dataclass(frozen=True)
class Score:
    """What a system did in one cell. Not every system has a threshold, and without counts there is no error."""

    system: str
    version: str
    setting: Setting
    runs: int
    threshold: float | None
    released: Interval
    recall: Interval
    error: Interval | None

    @property
    def side(self) -> str:
        """Whose system it is."""
        return self.system.split(",")[0]

    def row(self) -> dict[str, str]:
        """Return it as a row of the file."""
        cells = {
            "table": self.setting.rows.name,
            "epsilon": self.setting.epsilon,
            "delta": self.setting.delta,
            "items_per_user": str(self.setting.items_per_user),
            "system": self.system,
            "version": self.version,
            "runs": str(self.runs),
            "threshold": "" if self.threshold is None else f"{self.threshold:.6g}",
        }
        for name, pair in (("released", self.released), ("recall", self.recall), ("error", self.error)):
            cells[name], cells[f"{name}_half_width"] = ("", "") if pair is None else (f"{x:.6g}" for x in pair)
        return cells


def read(path: Path) -> list[dict[str, str]]:
    """Return all rows of the file, or none if there is no file yet."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, found: Iterable[Score]) -> None:
    """Put what was found in place of what the same sides had in the same cells, and keep the rest."""
    new = [one.row() for one in found]
    measured = {_part(row) for row in new}
    rows = [row for row in read(path) if _part(row) not in measured] + new
    rows.sort(key=_place)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)


def cell(row: dict[str, str]) -> tuple[str, str, str, str]:
    """Return which cell a row is of."""
    return row["table"], row["epsilon"], row["delta"], row["items_per_user"]


def _part(row: dict[str, str]) -> tuple[str, ...]:
    return *cell(row), row["system"].split(",")[0]


def _place(row: dict[str, str]) -> tuple[float, ...]:
    """Order by table, budget, bound and side; within a side as its script said."""
    tables = [rows.name for rows in TABLES]
    budget = (float(row["epsilon"]), -float(row["delta"]))
    return (
        tables.index(row["table"]),
        *budget,
        int(row["items_per_user"]),
        SIDES.index(row["system"].split(",")[0]),
    )
