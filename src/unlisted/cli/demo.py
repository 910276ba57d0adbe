"""`unlisted demo`: the whole story in a few seconds, on a table of invented people that the package makes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unlisted.cli.exits import stoppable
from unlisted.cli.output import may_be_written, write_file
from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.privacy.guarantee import Budget
from unlisted.query.plan import Plan
from unlisted.query.private_table import PrivateTable, table
from unlisted.release.release import Release, escaped, printable

_SHOWN = 12


def demo(
    chart: Annotated[Path, typer.Option(help="Where to draw the chart.")] = Path("unlisted-demo.svg"),
) -> None:
    """Release searches of an invented recipe site: a plan, a histogram, what was held back, a top 10, a chart."""
    from unlisted.demo.searches import searches  # noqa: PLC0415 - making the table takes a moment

    if not may_be_written(chart):
        raise InvalidArgumentError("--chart", str(chart), "a file in a folder that can be written to")
    rows = searches()
    asked = table(rows, user="user")
    users = len(set(rows.column("user").to_pylist()))
    _say(f"{rows.num_rows:,} searches of {users:,} people on a recipe site. All of them are invented.")
    plan = asked.histogram("query", budget=Budget(epsilon=1, delta="1e-8"), items_per_user=10)
    _show_plan(plan)
    with stoppable():
        release = plan.run()
    _show_release(release)
    _show_held_back(release)
    _show_top(asked)
    _draw(release, chart)


def _show_plan(plan: Plan) -> None:
    _title("1. The plan: what it will cost and how good it will be. No data is touched yet.")
    _say(str(plan))


def _show_release(release: Release) -> None:
    _title(f"2. The release: {len(release)} searches that enough people share, with noisy counts.")
    for row in release.rows[:_SHOWN]:
        _say(f"   {row['count']:>6,}  [{row['low']:,} to {row['high']:,}]  {printable(row['query'])}")
    if len(release) > _SHOWN:
        _say(f"   … and {len(release) - _SHOWN} more")


def _show_held_back(release: Release) -> None:
    """Show what a real system must not: the table is invented, so it may be looked into."""
    from unlisted.demo.searches import searches, sensitive  # noqa: PLC0415

    _title("3. What was held back, and why. (Only an invented table may be looked into like this.)")
    rows, released = searches(), {row["query"] for row in release.rows}
    typed: dict[str, list[int]] = {}
    for user, query in zip(rows.column("user").to_pylist(), rows.column("query").to_pylist(), strict=True):
        typed.setdefault(query, []).append(user)
    hidden = {query: by for query, by in typed.items() if query not in released}
    by_one = sum(len(set(by)) == 1 for by in hidden.values())
    _say(f"   {len(hidden):,} different searches, {by_one:,} of them made by one person.")
    for query in sorted(sensitive(), key=lambda one: -len(typed[one]))[:5]:
        people = len(set(typed[query]))
        _say(
            f"   {len(typed[query]):>4} × by {people} {'person' if people == 1 else 'people'}: {printable(query)}"
        )
    leaked = sorted(sensitive() & released)
    _say(f"   Sensitive searches in the release: {len(leaked)}.")


def _show_top(asked: PrivateTable) -> None:
    _title("4. A ranking of ten on phones, at ε = 1 more. It needs no bound on what one person typed.")
    plan = asked.top("query", k=10, budget=Budget(epsilon=1, delta="1e-8"), where="device = 'phone'")
    with stoppable():
        ranking = plan.run()
    for row in ranking.rows:
        _say(f"   {row['rank']:>3}. {printable(row['query'])}")
    if not ranking.complete:
        _say("   (the ranking ended early: nothing else was common enough to tell)")


def _draw(release: Release, chart: Path) -> None:
    from unlisted.release.charts import chart_bytes  # noqa: PLC0415 - an extra

    try:
        write_file(chart, chart_bytes(release.chart(), chart))
    except (InvalidArgumentError, MissingExtraError) as missing:
        _say(f"\nNo chart was drawn: {missing}")
        return
    _say(f"\nA chart of the release is in {escaped(str(chart))}.")


def _title(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _say(text: str) -> None:
    typer.echo(text)
