"""Put the tables that scripts print into the pages that show them.

A page says where a table comes from and holds the table itself, so that it can be read as it is:

    <!-- figure: users_needed.py epsilon -->
    | ... |
    <!-- end of figure -->

`python docs/make_figures.py` runs the scripts and writes the tables anew; with `--check` it only says which are
out of date, and leaves with 1 if any is.
"""

from __future__ import annotations

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


def renewed(page: str) -> str:
    """Return the text of a page with every table as its script prints it now."""
    return FIGURE.sub(lambda found: f"{found[1]}\n{_tables(found['script'])[found['table']]}\n\n{found[5]}", page)


@cache
def _tables(script: str) -> dict[str, str]:
    made: dict[str, str] = runpy.run_path(str(SCRIPTS / script))["tables"]()
    return made


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
