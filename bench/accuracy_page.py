"""The comparison at the same promise, as tables and a chart of what `utility/same_promise.py` wrote."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.utility.bounded_tables import TABLES
from bench.utility.opponents import OPPONENTS
from bench.utility.promise_records import BOUNDS, BUDGETS, NO_BOUND, question, read, side_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
CSV = DOCS / "data" / "same_promise.csv"
CHART = DOCS / "images" / "same_promise.svg"
SHOWN = {"epsilon": "1", "delta": "1e-8"}

OURS = "unlisted, histogram"
LABELS = "unlisted, labels only"
BOUNDED = "unlisted, histogram at a bound"

Row = dict[str, str]


class Measure(NamedTuple):
    """What is compared: its title, the digits in which it is said, and whether less is better."""

    title: str
    digits: int
    less: bool = False


MEASURES = {
    "released": Measure("labels released", 1),
    "recall_20": Measure("recall of the top 20", 3),
    "recall_100": Measure("recall of the top 100", 3),
    "true_error": Measure("error against the true count", 1, less=True),
    "top_error": Measure("error over the true top 100", 1, less=True),
}


def measured() -> list[Row]:
    """Read all cells."""
    return read(CSV)


def versions(rows: list[Row]) -> str:
    """Return what was compared, each side once for every version in the file."""
    return ", ".join(dict.fromkeys(f"{side_of(row)} {row['version']}" for row in rows))


def at_best(rows: Iterable[Row], name: str) -> Row | None:
    """Return the row that is best by a measure, of those that have it."""
    there = [row for row in rows if row[name]]
    return min(there, key=lambda row: _badness(row, name), default=None)


def documented(rows: Iterable[Row]) -> list[Row]:
    """Return the rows at the bound that each peer's documentation suggests."""
    return [row for row in rows if side_of(row) in OPPONENTS and row["items_per_user"] == _suggested(side_of(row))]


def _suggested(side: str) -> str:
    return str(OPPONENTS[side].documented)


def table(rows: list[Row]) -> str:
    """Return every measure at every budget: one in full, of the others the means, folded away."""
    shown = [row for row in rows if _is_shown(row)]
    where = _where(SHOWN["epsilon"], SHOWN["delta"])
    said = f"Means; the bound in parentheses. At {where}:"
    parts = [f"Compared: {versions(rows)}.", *_missing(rows), said, _summary(shown)]
    parts += [
        _folded(f"{one}: every bound, with intervals, at {where}", _details(shown, one))
        for one in _names(shown, "table")
    ]
    for epsilon, delta in BUDGETS:
        others = [row for row in rows if (row["epsilon"], row["delta"]) == (epsilon, delta) and not _is_shown(row)]
        if others:
            title = f"The same at {_where(epsilon, delta)}; {_runs(others)} runs"
            parts.append(_folded(title, _summary(others)))
    return "\n\n".join(parts)


def _where(epsilon: str, delta: str) -> str:
    return f"ε = {epsilon}, δ = {delta}"


def _runs(rows: list[Row]) -> str:
    """Return how many runs cells have, at least and at most."""
    found = sorted({int(row["runs"]) for row in rows})
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _summary(shown: list[Row]) -> str:
    """Return every measure at one budget: a column a table, a line a system at its best and documented bounds."""
    tables, parts = _names(shown, "table"), []
    for name, measure in MEASURES.items():
        lines = []
        for system in _names(shown, "system"):
            of = [row for row in shown if row["system"] == system]
            for said, chosen in _choices(system, of):
                best = [at_best([row for row in chosen if row["table"] == one], name) for one in tables]
                if any(best):
                    lines.append([said, *("" if row is None else _at_bound(row, name) for row in best)])
        head = [f"**{measure.title}**", *(one.replace("_", " ") for one in tables)]
        parts.append(_markdown(head, lines))
    return "\n\n".join(parts)


def _missing(rows: list[Row]) -> list[str]:
    """Say what was not measured: a side on a table, at all or at some of the budgets, or at some of the bounds."""
    there: dict[tuple[str, str], dict[tuple[str, str], set[str]]] = {}
    for row in rows:
        cell = there.setdefault((side_of(row), row["table"]), {})
        cell.setdefault((row["epsilon"], row["delta"]), set()).add(row["items_per_user"])
    lines = []
    for side, one in itertools.product(("unlisted", *OPPONENTS), TABLES):
        cell, left_out = there.get((side, one.name), {}), []
        bounds = {str(bound) for bound in BOUNDS} | ({NO_BOUND} if side == "unlisted" else set())
        for budget in BUDGETS if cell else ():
            missing = bounds - cell.get(budget, set())
            if missing:
                at = "" if missing == bounds else f" with bounds {', '.join(sorted(missing, key=_size))}"
                left_out.append(f"{_where(*budget)}{at}")
        if not cell or left_out:
            lines.append([side, one.name.replace("_", " "), "; ".join(left_out) or "everything"])
    return ["Not measured:", _markdown(["system", "table", "not at"], lines)] if lines else []


def _size(bound: str) -> int:
    return 0 if bound == NO_BOUND else int(bound)


def _choices(system: str, rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Return what is shown of a system: as it is without a bound, else at its best and at the suggested one."""
    if all(row["items_per_user"] == NO_BOUND for row in rows):
        return [(f"{system}, no bound", rows)]
    chosen = [(f"{system}, best bound", rows)]
    if suggested := documented(rows):
        chosen.append((f"{system}, documented bound", suggested))
    return chosen


def _at_bound(row: Row, name: str) -> str:
    bound = row["items_per_user"]
    return _briefly(float(row[name]), name) + ("" if bound == NO_BOUND else f" ({bound})")


def _details(shown: list[Row], name: str) -> str:
    head = ["system", "bound", "runs", *(measure.title for measure in MEASURES.values()), "error in the bound"]
    lines = [
        [
            row["system"],
            row["items_per_user"],
            row["runs"],
            *(_said(row, one, measure.digits) for one, measure in MEASURES.items()),
            _said(row, "error", 1),
        ]
        for row in shown
        if row["table"] == name
    ]
    return _markdown(head, lines)


def better(rows: list[Row]) -> str:
    """Say where some peer, at any bound, beats our histogram without one by more than both intervals."""
    ours = {question(row): row for row in rows if row["system"] == OURS}
    labels = {question(row): row for row in rows if row["system"] == LABELS}
    bounded = {(question(row), row["items_per_user"]): row for row in rows if row["system"] == BOUNDED}
    theirs = [row for row in rows if side_of(row) in OPPONENTS and question(row) in ours]
    counted, parts = [], []
    ahead = {name: [row for row in theirs if _is_ahead(row, _rival(row, ours, labels), name)] for name in MEASURES}
    for system in _names(theirs, "system"):
        of = [row for row in theirs if row["system"] == system]
        wins = [[row for row in ahead[name] if row["system"] == system] for name in MEASURES]
        counted.append([system, str(len({question(row) for row in of})), *(_tally(won) for won in wins)])
    parts.append(_markdown(["system", "questions", *(one.title for one in MEASURES.values())], counted))
    for name, measure in MEASURES.items():
        lines = [
            [
                *question(row),
                row["items_per_user"],
                row["system"],
                _said(row, name, measure.digits),
                _said(_rival(row, ours, labels), name, measure.digits),
                _said(bounded.get((question(row), row["items_per_user"]), {}), name, measure.digits),
            ]
            for row in ahead[name]
        ]
        if lines:
            head = ["table", "ε", "δ", "its bound", "system", "its", "ours", "ours at that bound"]
            parts.append(_folded(f"Where a peer is better: {measure.title}", _markdown(head, lines)))
    return "\n\n".join(parts)


def _rival(row: Row, ours: Mapping[Any, Row], labels: Mapping[Any, Row]) -> Row:
    """Return what of ours a row is held against: labels alone against labels alone, all else the histogram."""
    return (
        labels.get(question(row), ours[question(row)]) if "labels only" in row["system"] else ours[question(row)]
    )


def _tally(won: list[Row]) -> str:
    """Return of how many questions a peer has the better answer, and at which bounds."""
    if not won:
        return "0"
    bounds = ", ".join(sorted({row["items_per_user"] for row in won}, key=int))
    return f"{len({question(row) for row in won})} (at {bounds})"


def _badness(row: Row, name: str) -> float:
    return float(row[name]) if MEASURES[name].less else -float(row[name])


def _is_ahead(row: Row, mine: Row, name: str) -> bool:
    """Return whether a peer's number is better than ours by more than both confidence intervals."""
    if not row[name] or not mine[name]:
        return False
    return _badness(mine, name) - _badness(row, name) > sum(
        float(one[f"{name}_half_width"]) for one in (row, mine)
    )


def _is_shown(row: Row) -> bool:
    return all(row[key] == value for key, value in SHOWN.items())


def _said(row: Row, name: str, digits: int) -> str:
    if not row.get(name):
        return ""
    return f"{float(row[name]):,.{digits}f} ± {float(row[f'{name}_half_width']):,.{digits}f}"


def _briefly(number: float, name: str) -> str:
    if name.startswith("recall"):
        return f"{number:.2f}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def _names(rows: Iterable[Row], column: str) -> list[str]:
    return list(dict.fromkeys(row[column] for row in rows))


def _markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    ruler = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ruler, *lines))


def _folded(title: str, body: str) -> str:
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return f'??? note "{title}"\n\n{indented}'


def draw(rows: list[Row]) -> None:
    """Draw the labels released by each system against items per user, ours without a bound as a line across."""
    import altair as alt

    shown = [row for row in rows if _is_shown(row) and "labels only" not in row["system"]]
    data: list[dict[str, Any]] = []
    for row in shown:
        across = row["items_per_user"] == NO_BOUND
        for bound in ("1", "50") if across else (row["items_per_user"],):
            data.append(
                {
                    "table": row["table"],
                    "system": f"{row['system']}, no bound" if across else row["system"],
                    "items per user": int(bound),
                    "labels released": float(row["released"]),
                }
            )
    legend = alt.Legend(orient="bottom", columns=3, title=None, labelLimit=300)
    systems = list(dict.fromkeys(one["system"] for one in data))
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_line(point=True)
        .encode(
            x=alt.X("items per user:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[1, 3, 10, 50])),
            y=alt.Y("labels released:Q"),
            color=alt.Color("system:N", sort=systems, legend=legend),
        )
        .properties(width=200, height=150)
        .facet(facet=alt.Facet("table:N", title=None, sort=_names(rows, "table")), columns=3)
        .resolve_scale(y="independent")
        .resolve_axis(x="independent")
    )
    CHART.parent.mkdir(exist_ok=True)
    chart.save(str(CHART))
