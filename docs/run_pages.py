"""Run what the pages show, in order and in a fresh folder for each page, and compare it with what they say.

The blocks of a page share their names, as if you had typed them one after the other. What a block printed stands
in the block after it:

    ```text title="prints"                 the same on every run, and compared
    ```text title="prints, for example"    has noise in it, and is not

A number in prose is an expression, evaluated where it stands and compared with what stands beside it. Readers see
the number only, on GitHub as on the site. A whole number is written with its commas; text is taken as it is:

    An item needs <!--= plan.accuracy.needed[50] -->99<!--/--> users.

What a page needs but a reader does not stands in a comment that is run:

    <!-- run:
    from unlisted.tables.counting import FEW_LABELS
    -->

A Python block with a title such as "with a Spark session" needs what no page can start; the tests run those with
real services. A `console` block holds commands, `$ unlisted ...`, and perhaps what they printed; that of `unlisted
preview`, which has no noise, is compared. Every command must exit with 0.

`python docs/run_pages.py [PAGE...]` checks the pages of this folder, README.md and ARCHITECTURE.md; with `--write`
it puts what was printed, and what the expressions came to, into the pages.
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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent
OUTSIDE = ("README.md", "ARCHITECTURE.md")
"""Pages beside this folder that are run with it."""

PART = re.compile(
    r"^```(?P<kind>\w+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$"
    r"|^<!-- run:\n(?P<hidden>.*?)^-->$"
    r"|<!--=(?P<expression>.*?)-->(?P<said>[^\n]*?)<!--/-->",
    re.DOTALL | re.MULTILINE,
)
STARTS_A_LINE = re.compile(r"^[\s>]*(?:[-*+]|\d+\.)?\s*$")
"""What stands before a comment that Markdown would take for a block of its own."""

READ_AS_COMMENT = re.compile(r"(?:(?!\]\[|\]\(|[`|\\]|--).)*", re.DOTALL)
"""What may stand in an expression: no link and no code as the site reads them, no end of a table's cell."""

ELSEWHERE = 'title="with a '
SAME, EXAMPLE = 'title="prints"', 'title="prints, for example"'
WIDTH = "100"


class PageError(Exception):
    """A part that failed, or that does not come to what the page says."""


@dataclass
class Page:
    """A page, and what was printed while it ran."""

    path: Path
    names: dict[str, Any] = field(default_factory=dict)
    printed: str = ""

    def run(self, *, write: bool) -> None:
        """Run all parts inside a fresh folder; check or write what they came to."""
        text = self.path.read_text(encoding="utf-8")
        self.names |= {"__name__": "__page__", "__file__": str(self.path)}
        renewed, at = [], 0
        with tempfile.TemporaryDirectory(prefix="unlisted-page-") as folder, contextlib.chdir(folder):
            for part in PART.finditer(text):
                line = text.count("\n", 0, part.start()) + 1
                if part["hidden"] is not None:
                    self._python(part["hidden"], line)
                    continue
                where = "said" if part["expression"] is not None else "body"
                renewed += [text[at : part.start(where)], self._renewed(part, line, write=write)]
                at = part.end(where)
        if write:
            self.path.write_text("".join([*renewed, text[at:]]), encoding="utf-8")

    def _renewed(self, part: re.Match[str], line: int, *, write: bool) -> str:
        """Run a part, and return what should stand in it."""
        if part["expression"] is None:
            return self._body(part["kind"], part["options"], part["body"], line, write=write)
        before = part.string[part.string.rfind("\n", 0, part.start()) + 1 : part.start()]
        if STARTS_A_LINE.match(before):
            raise PageError(f"{self.path.name}, line {line}: do not start a line so: Markdown ends the paragraph")
        if not READ_AS_COMMENT.fullmatch(part["expression"]):
            raise PageError(
                f"{self.path.name}, line {line}: name that in a run block: Markdown sees a link or code"
            )
        value = self._value(part["expression"], line)
        if not write and value != part["said"]:
            raise PageError(
                f"{self.path.name}, line {line}: {part['expression'].strip()} is {value}, "
                f"but the page says {part['said']}; run: python docs/run_pages.py {self.path.name} --write"
            )
        return value

    def _value(self, expression: str, line: int) -> str:
        """Evaluate what stands in the prose."""
        try:
            value = eval(f"({expression.strip()}\n)", self.names)  # noqa: S307 - these pages are ours
        except Exception as failure:
            raise PageError(f"{self.path.name}, line {line}:\n{traceback.format_exc()}") from failure
        if isinstance(value, str) and value and "\n" not in value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:,}"
        raise PageError(f"{self.path.name}, line {line}: say how to write {value!r}, with an f-string")

    def _body(self, kind: str, options: str, body: str, line: int, *, write: bool) -> str:
        """Run a block, and return the body that it should have."""
        if kind == "python" and ELSEWHERE not in options:
            self.printed = self._python(body, line)
            return body
        if kind == "console":
            return "".join(
                self._console(command, shown, line, write=write) for command, shown in self._commands(body, line)
            )
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

    def _commands(self, body: str, line: int) -> Iterator[tuple[str, str]]:
        """Split a console block into commands, which may go on after a backslash, and what each printed."""
        if not body.startswith("$ unlisted"):
            raise PageError(f"{self.path.name}, line {line}: a console block begins with `$ unlisted`")
        for one in re.split(r"^(?=\$ )", body, flags=re.MULTILINE)[1:]:
            lines = one.splitlines(keepends=True)
            end = next(at for at, text in enumerate(lines, start=1) if not text.endswith("\\\n"))
            yield "".join(lines[:end]), "".join(lines[end:])

    def _console(self, command: str, shown: str, line: int, *, write: bool) -> str:
        """Run a command, and return it with what should stand below it."""
        words = shlex.split(command.replace("\\\n", " "))
        if words[:2] != ["$", "unlisted"]:
            raise PageError(f"{self.path.name}, line {line}: a command begins with `$ unlisted`")
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
        return command + printed if shown else command


def _paths(named: list[str]) -> list[Path]:
    """Find the pages that are named, or all."""
    beside = [PAGES.parent / name for name in OUTSIDE]
    if not named:
        return sorted(PAGES.glob("*.md")) + [page for page in beside if page.exists()]
    return [PAGES.parent / name if name in OUTSIDE else PAGES / name for name in named]


def main(arguments: list[str]) -> int | str:
    """Run the named pages, or all."""
    for path in _paths([name for name in arguments if name != "--write"]):
        try:
            Page(path).run(write="--write" in arguments)
        except PageError as failure:
            return str(failure)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
