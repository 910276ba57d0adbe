"""Put every option of every question into docs/api.md, from where the options are said: `query/questions.py`.

The table stands between `<!-- options -->` and `<!-- end of options -->`. With `--check` nothing is written, and
the script leaves with 1 if the page is out of date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from unlisted.query.options import AMOUNTS, defaults_of, own_options
from unlisted.query.questions import KINDS

PAGE = Path(__file__).parent / "api.md"
TABLE = re.compile(r"<!-- options -->\n.*?<!-- end of options -->", re.DOTALL)


def table() -> str:
    """Return the options: of which questions, with which default, and what they mean."""
    lines = ["| option | of | default | means |", "|---|---|---|---|"]
    for name, kinds, default, text in rows():
        questions = "all" if len(kinds) == len(KINDS) else ", ".join(f"`{one}`" for one in kinds)
        shown = "" if default is None else f"`{default!r}`"
        lines.append(f"| `{name}` | {questions} | {shown} | {text} |")
    return "\n".join(lines)


def rows() -> list[tuple[str, list[str], Any, str]]:
    """Return each option once for every meaning that it has."""
    found: dict[tuple[str, str], tuple[list[str], Any]] = {}
    for kind in KINDS.values():
        for name, about in own_options(kind).items():
            default = defaults_of(kind).get(name)
            found.setdefault((name, about.help), ([], default))[0].append(kind.kind.replace("-", "_"))
    listed = [(name, kinds, default, text) for (name, text), (kinds, default) in found.items()]
    return listed + [(name, list(KINDS), None, f"In a budget: {about.help}") for name, about in AMOUNTS.items()]


def main(arguments: list[str]) -> int | str:
    """Write or check."""
    before = PAGE.read_text(encoding="utf-8")
    after = TABLE.sub(lambda _: f"<!-- options -->\n\n{table()}\n\n<!-- end of options -->", before)
    if "--check" in arguments:
        return 0 if after == before else "docs/api.md is out of date; run: python docs/make_options.py"
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
