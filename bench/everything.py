"""Run the benchmarks, print one table of what was reached, and write docs/benchmarks.md.

usage: python -m bench.everything [NAME…] [--page]        all without names; --page only writes the page anew

What each script printed is kept in docs/data/benchmarks.json, by its name, with the day it ran: the page can be
written without running everything again, and a script that was run alone replaces only its own part.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import accuracy_page, speed_page
from bench.measure import RECORD, print_table

DOCS = Path(__file__).resolve().parents[1] / "docs"
KEPT, PAGE = DOCS / "data" / "benchmarks.json", DOCS / "benchmarks.md"

REACHED = ("demo", "W1", "online_retail", "npm_owner_words", "reddit_posts_words")
"""The tables of which it is said how many values must come out."""

SCRIPTS: dict[str, tuple[str, ...]] = {
    "speed.noise": (),
    "speed.mechanisms": (),
    "speed.startup": (),
    "speed.tables": (),
    "speed.finding": (),
    "speed.ledger": (),
    "speed.stream": ("--rounds", "150"),
    "speed.server": (),
    "utility.labels": ("--bounds", "1", "10", "100", "--runs", "2"),
    "utility.find_then_count": ("--tables", *REACHED, "--resume"),
    "utility.same_promise": ("--csv", str(accuracy_page.CSV)),
}
"""Each script with what it is given. Order matters only to the reader."""

PART = re.compile(r"(<!-- bench: (?P<name>\w+) -->\n)(?P<body>.*?)(<!-- end of bench -->)", re.DOTALL)
"""Where the page holds a part that is written here; all other words on it are for people to write."""


def run(name: str) -> dict[str, Any]:
    """Run one script, letting it print, and return what it said."""
    with tempfile.NamedTemporaryFile() as record:
        command = [sys.executable, "-m", f"bench.{name}", *SCRIPTS[name]]
        environment = {**os.environ, RECORD: record.name, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                print(line, end="")
                said.append(line)
        if process.returncode:
            raise SystemExit(f"bench.{name} failed")
        verdicts = [json.loads(line) for line in Path(record.name).read_text(encoding="utf-8").splitlines()]
    return {"day": f"{datetime.now(UTC):%Y-%m-%d}", "verdicts": verdicts, "said": "".join(said).rstrip()}


def reached(kept: Mapping[str, Any]) -> str:
    """Return one table of all targets."""
    lines = ["| script | target | worst measured | |", "|---|---|---|---|"]
    for name in SCRIPTS:
        for one in kept.get(name, {}).get("verdicts", ()):
            lines.append(f"| `{name}` | {one['claim']} | {one['worst']}, {one['where']} | {one['verdict']} |")
    return "\n".join(lines)


def printed(kept: Mapping[str, Any]) -> str:
    """Return what each script printed, folded away."""
    parts = []
    for name in SCRIPTS:
        if name in kept and name != "utility.same_promise":
            body = "\n".join(f"    {line}".rstrip() for line in kept[name]["said"].splitlines())
            title = f"`python -m bench.{name}`, {kept[name]['day']}"
            parts.append(f'??? note "{title}"\n\n    ```text\n{body}\n    ```')
    return "\n\n".join(parts)


def write_page(kept: Mapping[str, Any]) -> None:
    """Put the parts that were measured into the page."""
    rows = accuracy_page.measured()
    parts = {
        "reached": reached(kept),
        "printed": printed(kept),
        "accuracy": accuracy_page.table(rows),
        "better": accuracy_page.better(rows),
    }
    accuracy_page.draw(rows)
    speed_page.draw(kept)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        PART.sub(lambda found: f"{found[1]}\n{parts[found['name']]}\n\n{found[4]}", text), encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.everything", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCRIPTS))
    parser.add_argument("--page", action="store_true", help="run nothing, write the page")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - SCRIPTS.keys()
    if unknown:
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in () if chosen.page else chosen.names or SCRIPTS:
        kept[name] = run(name)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write_page(kept)
    rows = [[one["claim"], one["worst"], one["verdict"]] for each in kept.values() for one in each["verdicts"]]
    print_table(("target", "worst", ""), rows)


if __name__ == "__main__":
    main()
