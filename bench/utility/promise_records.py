"""What was measured at the same promise, kept in a file: a part that is measured again replaces itself."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from bench.peer_scripts.scores import MEASURES
from bench.utility.bounded_tables import TABLES, Rows

SIDES = ("unlisted", "OpenDP", "PipelineDP", "PyDP", "Tumult Analytics")
"""Who is compared, in the order of the reports. A system's name begins with one of these and a comma."""

BUDGETS = (("0.5", "1e-6"), ("0.5", "1e-8"), ("1", "1e-6"), ("1", "1e-8"), ("3", "1e-8"))
"""The (ε, δ) at which they are."""

BOUNDS = (1, 2, 3, 5, 10, 50)
"""The bounds on the items of a user at which they are."""

NO_BOUND = "none"
"""The bound of a question that asks for none."""

T_95 = {20: 2.093, 10: 2.262, 5: 2.776, 3: 4.303, 2: 12.706}
"""Student's 97.5 % quantile for the mean of so many runs; above 20 the one of 20 is on the safe side."""


@dataclass(frozen=True)
class Setting:
    """One cell of the comparison; without a bound, whoever is asked chooses how much a user may matter."""

    rows: Rows
    epsilon: str
    delta: str
    items_per_user: int | None

    @property
    def bound(self) -> str:
        """The bound as it stands in the file."""
        return NO_BOUND if self.items_per_user is None else str(self.items_per_user)


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
    measured: Mapping[str, Interval]
    """By measure, those that there are."""

    @classmethod
    def of(cls, system: str, version: str, setting: Setting, told: Mapping[str, list[float]]) -> Score:
        """Make one of what a side said of its runs. Fewer than two values are no measurement."""
        found = {name: interval(told[name]) for name in MEASURES if len(told[name]) > 1}
        threshold: float | None = told.get("threshold")  # type: ignore[assignment] - one number beside the lists
        return cls(system, version, setting, len(told["released"]), threshold, found)

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
            "items_per_user": self.setting.bound,
            "system": self.system,
            "version": self.version,
            "runs": str(self.runs),
            "threshold": "" if self.threshold is None else f"{self.threshold:.6g}",
        }
        for name in MEASURES:
            pair = self.measured.get(name)
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


def question(row: Mapping[str, str]) -> tuple[str, str, str]:
    """Return which table and budget a row is about: what everybody is asked."""
    return row["table"], row["epsilon"], row["delta"]


def side_of(row: Mapping[str, str]) -> str:
    """Return whose system a row is of."""
    return row["system"].split(",")[0]


def _part(row: Mapping[str, str]) -> tuple[str, ...]:
    return *question(row), row["items_per_user"], side_of(row)


def _place(row: Mapping[str, str]) -> tuple[float, ...]:
    """Order by table, budget, bound and side; within a side as its script said. No bound comes first."""
    tables = [rows.name for rows in TABLES]
    budget = (float(row["epsilon"]), -float(row["delta"]))
    bound = 0 if row["items_per_user"] == NO_BOUND else int(row["items_per_user"])
    return tables.index(row["table"]), *budget, bound, SIDES.index(side_of(row))
