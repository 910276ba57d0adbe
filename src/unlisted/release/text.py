"""A release as a plain table, for a terminal or a notebook that shows text."""

from __future__ import annotations

from unlisted.release.layout import drawn
from unlisted.release.release import Release, printable, promises, rows_of
from unlisted.release.released_too import has_shares, share_texts, totals_as_lines


def as_text(release: Release, most: int | None = None) -> str:
    """Draw a release as a plain table: all rows, or so many of the first."""
    names, shown = release.table.column_names, release.table.slice(0, most)
    # A row of a steady count may have no released one.
    right = {at for at, name in enumerate(names) if name in release.number_names}
    rows = [["" if row[name] is None else printable(row[name]) for name in names] for row in rows_of(shown)]
    if has_shares(release):
        names = [*names, "share of users"]
        rows = [[*row, share] for row, share in zip(rows, share_texts(release, most), strict=True)]
    lines = [
        f"Release of {len(release):,} rows: {release.reading}",
        *drawn([printable(name) for name in names], rows, right),
    ]
    if len(rows) < len(release):
        lines.append(f"… and {len(release) - len(rows):,} more rows")
    return "\n".join([*lines, *totals_as_lines(release), *promises(release)])
