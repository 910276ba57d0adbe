"""Draw a year of a shop's sales as a private stream, beside the true counts.

`python docs/make_stream_chart.py [FILE.parquet] [PICTURE.svg]`. The table is "Online Retail" (D. Chen, UCI Machine
Learning Repository, doi 10.24432/C5BW33, CC BY 4.0) with the columns user, item and ts. It is not part of this
project; without it nothing is drawn. Noise is drawn anew, so the chart is never twice the same.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import altair as alt
import duckdb
import pyarrow as pa

import unlisted as ul
from unlisted.streams.question import EventLevelWarning, StreamNoise
from unlisted.streams.stream import Stream

ROOT = Path(__file__).parents[1]
TABLE = ROOT.parent / "shared" / "data" / "online_retail.parquet"
PICTURE = Path(__file__).parent / "images" / "stream.svg"
BUDGET = ul.Budget(epsilon=2, delta="1e-6")
ITEMS_PER_EVENT = 80
PRODUCTS = 10


def days(sales: duckdb.DuckDBPyConnection) -> Iterator[tuple[date, pa.Table]]:
    """Yield every day of the calendar from the first sale to the last, with its rows."""
    [(day, last)] = sales.execute("SELECT MIN(ts)::DATE, MAX(ts)::DATE FROM sales").fetchall()
    while day <= last:
        yield day, sales.sql("SELECT user, item FROM sales WHERE ts::DATE = ?", params=[day]).to_arrow_table()
        day += timedelta(days=1)


def private(sales: duckdb.DuckDBPyConnection, folder: Path, noise: StreamNoise) -> tuple[Stream, dict[int, date]]:
    """Run the whole stream, one round a day."""
    rounds = list(days(sales))
    with warnings.catch_warnings(action="ignore", category=EventLevelWarning):
        stream = Stream.create(
            folder, rounds=len(rounds), unit="event", items_per_event=ITEMS_PER_EVENT, budget=BUDGET, noise=noise
        )
    for day, rows in rounds:
        stream.push(rows, time=day)
    return stream, {number: day for number, (day, _) in enumerate(rounds, start=1)}


def true_counts(sales: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[date, int]]]:
    """Return the true running counts of the products that most customers' days have, without any bound."""
    query = """
        WITH events AS (SELECT DISTINCT user, item, ts::DATE AS day FROM sales),
        products AS (SELECT item, COUNT(*) AS n FROM events GROUP BY item ORDER BY n DESC, item LIMIT ?)
        SELECT item, day, SUM(COUNT(*)) OVER (PARTITION BY item ORDER BY day), MAX(n)
        FROM events JOIN products USING (item) GROUP BY item, day ORDER BY MAX(n) DESC, item, day
    """
    found: dict[str, list[tuple[date, int]]] = {}
    for item, day, count, _ in sales.execute(query, [PRODUCTS]).fetchall():
        found.setdefault(item, []).append((day, int(count)))
    return found


def drawn(stream: Stream, when: dict[int, date], true: dict[str, list[tuple[date, int]]]) -> alt.FacetChart:
    """Draw a small chart for each product: the steady count in its band, what was released, and the true one."""
    said = "private, with its 95 % band; dots as released"
    data: list[dict[str, Any]] = []
    for row in stream.export(items=list(true), steady=True).rows:
        place = {"item": row["item"], "day": str(when[row["round"]]), "kind": said}
        data.append(
            place
            | {"released": row["count"], "count": row["steady"]}
            | {"low": row["steady_low"], "high": row["steady_high"]}
        )
    data += [
        {"item": item, "day": str(day), "count": count, "kind": "true, without bounds"}
        for item, counts in true.items()
        for day, count in counts
    ]
    colours = alt.Color("kind:N", title=None, legend=alt.Legend(orient="top", labelLimit=500, columnPadding=60))
    base = alt.Chart().encode(
        x=alt.X("day:T", title=None, axis=alt.Axis(format="%b %y", tickCount=5)), color=colours
    )
    band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", title="customers' days"), y2="high:Q")
    line = base.mark_line(strokeWidth=1.4).encode(y="count:Q")
    dots = base.mark_point(size=3, filled=True, opacity=0.45).encode(y="released:Q")
    chart: alt.FacetChart = (
        alt.layer(band, dots, line, data=alt.Data(values=data))
        .properties(width=240, height=110)
        .facet(facet=alt.Facet("item:N", title=None, sort=list(true)), columns=2)
        .resolve_scale(y="independent")
    )
    return chart


def main(arguments: list[str]) -> int | str:
    """Draw the picture and say what the noise was."""
    table = Path(arguments[0]) if arguments else TABLE
    picture = Path(arguments[1]) if len(arguments) > 1 else PICTURE
    if not table.exists():
        return f"{table.name} is not here, so the picture stays as it is"
    with duckdb.connect() as sales, tempfile.TemporaryDirectory() as folder:
        sales.execute("CREATE TABLE sales AS SELECT user, item, ts FROM read_parquet(?)", [str(table)])
        stream, when = private(sales, Path(folder) / "stream", "correlated")
        tree, _ = private(sales, Path(folder) / "tree", "tree")
        true = true_counts(sales)
        drawn(stream, when, true).save(picture)
        last = {row["item"]: row for row in stream.release(stream.round).rows}
        shown = f"{len(last):,} products in the last release, {len(tree.release(tree.round)):,} with a binary tree"
        lines = [repr(stream), shown]
        for item, counts in true.items():
            row = last.get(item)
            private_count = f"{row['count']:,} ({row['low']:,} to {row['high']:,})" if row else "not shown"
            lines.append(f"{item}: true {counts[-1][1]:,}, private {private_count}")
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
