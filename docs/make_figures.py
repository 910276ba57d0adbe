"""Put the tables that scripts print into the pages that show them.

A page says where a table comes from and holds the table itself, so that it can be read as it is:

    <!-- figure: users_needed.py epsilon -->
    | ... |
    <!-- end of figure -->

What was measured on tables that are no part of this project, or takes long, is kept in docs/data and shown by

    <!-- data: labels.csv -->
    | ... |
    <!-- end of data -->

`python docs/make_figures.py` runs the scripts and writes the tables anew; with `--check` it only says which are
out of date, and exits with 1 if any is.
"""

from __future__ import annotations

import csv
import re
import runpy
import sys
from functools import cache
from pathlib import Path

PAGES = Path(__file__).parent
SCRIPTS = PAGES.parent / "bench" / "utility"
FIGURE = re.compile(
    r"(<!-- figure: (?P<script>\w+\.py) (?P<table>\w+) -->\n)(?P<body>.*?)(<!-- end of figure -->)", re.DOTALL
)
DATA = re.compile(r"(<!-- data: (?P<file>\w+\.csv) -->\n)(?P<body>.*?)(<!-- end of data -->)", re.DOTALL)


def renewed(page: str) -> str:
    """Return the text of a page with every table as its script prints it now, or as docs/data has it."""
    page = FIGURE.sub(lambda found: f"{found[1]}\n{_tables(found['script'])[found['table']]}\n\n{found[5]}", page)
    return DATA.sub(lambda found: f"{found[1]}\n{_kept(found['file'])}\n\n{found[4]}", page)


@cache
def _tables(script: str) -> dict[str, str]:
    root = str(PAGES.parent)
    if root not in sys.path:  # scripts may import from bench
        sys.path.append(root)
    made: dict[str, str] = runpy.run_path(str(SCRIPTS / script))["tables"]()
    return made


def _kept(file: str) -> str:
    """Write a file of docs/data as a table, numbers to the right."""
    with (PAGES / "data" / file).open(encoding="utf-8", newline="") as kept:
        head, *rows = csv.reader(kept)
    numbers = [all(row[at][:1] in "0123456789" for row in rows) for at in range(len(head))]
    lines = [head, ["---:" if number else "---" for number in numbers]]
    lines += [[f"{int(cell):,}" if cell.isdigit() else cell for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str]) -> int | str:
    """Write or check all pages."""
    stale = []
    for page in sorted(PAGES.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            stale.append(page.name)
            if "--check" not in arguments:
                page.write_text(after, encoding="utf-8")
    if "--check" in arguments and stale:
        return f"tables out of date in {', '.join(stale)}; run: python docs/make_figures.py"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
