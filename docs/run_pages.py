"""Run what the pages show: each Python block and each `unlisted` command, in order, a fresh folder for each page.

Blocks of a page share their names, as if they were typed one after the other. What a block printed is shown in
the block after it:

    ```text title="prints"                 the same on every run, and compared
    ```text title="prints, for example"    has noise in it, and is not

A Python block with a title such as "with a Spark session" needs what no page can start; the tests run those with
real services. A `console` block holds `$ unlisted ...` and perhaps what it printed; that of `unlisted preview`,
which has no noise, is compared. Every command must leave with 0.

`python docs/run_pages.py [PAGE...]` checks; with `--write` it puts what was printed into the pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent
BLOCK = re.compile(r"^```(?P<kind>\w+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
ELSEWHERE = 'title="with a '
SAME, EXAMPLE = 'title="prints"', 'title="prints, for example"'
WIDTH = "100"


class PageError(Exception):
    """A block that failed, or whose output is not what the page says."""


@dataclass
class Page:
    """A page, and what was printed while it ran."""

    path: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    printed: str = ""

    def run(self, *, write: bool) -> None:
        """Run all blocks inside a fresh folder; check or write what they printed."""
        text = self.path.read_text(encoding="utf-8")
        renewed, at = [], 0
        with tempfile.TemporaryDirectory(prefix="unlisted-page-") as folder, contextlib.chdir(folder):
            for block in BLOCK.finditer(text):
                line = text.count("\n", 0, block.start()) + 1
                body = self._body(block["kind"], block["options"], block["body"], line, write=write)
                renewed += [text[at : block.start("body")], body]
                at = block.end("body")
        if write:
            self.path.write_text("".join([*renewed, text[at:]]), encoding="utf-8")

    def _body(self, kind: str, options: str, body: str, line: int, *, write: bool) -> str:
        """Run a block, and return the body that it should have."""
        if kind == "python" and ELSEWHERE not in options:
            self.printed = self._python(body, line)
            return body
        if kind == "console":
            return self._console(body, line, write=write)
        if SAME in options or EXAMPLE in options:
            if SAME in options and not write and self.printed != body:
                raise PageError(f"{self.path.name}, line {line}: printed\n{self.printed}\nbut shows\n{body}")
            return self.printed
        return body

    def _python(self, body: str, line: int) -> str:
        printed = io.StringIO()
        try:
            # As many empty lines as there are before the block, so that a traceback names the page's own lines.
            code = compile("\n" * line + body, self.path.name, "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)  # noqa: S102 - these pages are ours
        except Exception as failure:
            raise PageError(f"{self.path.name}, line {line}:\n{traceback.format_exc()}") from failure
        return "".join(f"{shown.rstrip()}\n" for shown in printed.getvalue().splitlines())

    def _console(self, body: str, line: int, *, write: bool) -> str:
        command, shown = _split(body)
        words = shlex.split(command.replace("\\\n", " "))
        if words[:2] != ["$", "unlisted"]:
            raise PageError(f"{self.path.name}, line {line}: a console block begins with `$ unlisted`")
        settings = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": WIDTH, "PYTHONWARNINGS": "error"}
        done = subprocess.run(  # noqa: S603 - these pages are ours
            [str(Path(sys.executable).with_name("unlisted")), *words[2:]],
            capture_output=True,
            text=True,
            env={**os.environ, **settings},
            check=False,
        )
        if done.returncode != 0:
            raise PageError(f"{self.path.name}, line {line}: exit code {done.returncode}\n{done.stderr}")
        printed = "".join(f"{one.rstrip()}\n" for one in done.stdout.splitlines())
        if shown and words[2] == "preview" and not write and printed != shown:
            raise PageError(f"{self.path.name}, line {line}: printed\n{printed}\nbut shows\n{shown}")
        return command + printed if shown else body


def _split(body: str) -> tuple[str, str]:
    """Split a console block into the command, which may go on after a backslash, and what it printed."""
    lines = body.splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines, start=1) if not line.endswith("\\\n"))
    return "".join(lines[:end]), "".join(lines[end:])


def main(arguments: list[str]) -> int | str:
    """Run the named pages, or all."""
    named = [PAGES / name for name in arguments if name != "--write"]
    for path in named or sorted(PAGES.glob("*.md")):
        try:
            Page(path).run(write="--write" in arguments)
        except PageError as failure:
            return str(failure)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
