"""Put what `unlisted VERB --help` says into docs/cli.md.

A verb's section holds its help, which this script writes:

    <!-- help: unlisted histogram -->
    ...
    <!-- end of help -->

A verb that has no section yet gets one at the end of the page; one that is gone is refused. With `--check` nothing
is written, and the script leaves with 1 if the page is out of date. With `--texts` it prints the help of every
verb as JSON, for the golden files of the tests.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "cli.md"
WIDTH = "80"
HELP = re.compile(r"<!-- help: (?P<verb>[^\n]+) -->\n.*?<!-- end of help -->", re.DOTALL)


def help_texts() -> dict[str, str]:
    """Return the help of the command and of each of its verbs, by the words that are typed."""
    # Typer reads these when it is imported: as wide here as everywhere, and without colours.
    os.environ.update(TERMINAL_WIDTH=WIDTH, NO_COLOR="1", TERM="dumb")
    for forces_colour in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        os.environ.pop(forces_colour, None)
    import typer  # noqa: PLC0415
    from typer.testing import CliRunner  # noqa: PLC0415

    from unlisted.cli.main import application  # noqa: PLC0415

    app = application()

    def shown(words: list[str]) -> str:
        done = CliRunner().invoke(app, [*words[1:], "--help"], prog_name="unlisted")
        return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n") + "\n"

    return {" ".join(words): shown(words) for words in _verbs(["unlisted"], typer.main.get_command(app))}


def _verbs(words: list[str], command: Any) -> Iterator[list[str]]:
    """Walk through the command and all its verbs, in the order that its help has."""
    yield words
    for name, verb in getattr(command, "commands", {}).items():
        if not verb.hidden:
            yield from _verbs([*words, name], verb)


def renewed(page: str, texts: dict[str, str]) -> str:
    """Return the page with every verb's help as it is now."""
    for verb in texts:
        if f"<!-- help: {verb} -->" not in page:
            page = f"{page.rstrip()}\n\n## {verb}\n\n<!-- help: {verb} -->\n<!-- end of help -->\n"
    return HELP.sub(lambda found: _block(found["verb"], texts), page)


def _block(verb: str, texts: dict[str, str]) -> str:
    if verb not in texts:
        sys.exit(f"docs/cli.md has a section for `{verb}`, which is no verb any more: remove it")
    return f"<!-- help: {verb} -->\n\n```text\n{texts[verb]}```\n\n<!-- end of help -->"


def main(arguments: list[str]) -> int | str:
    """Write, check or print."""
    texts = help_texts()
    if "--texts" in arguments:
        json.dump(texts, sys.stdout)
        return 0
    before = PAGE.read_text(encoding="utf-8")
    after = renewed(before, texts)
    if "--check" in arguments:
        return 0 if after == before else "docs/cli.md is out of date; run: python docs/make_cli_reference.py"
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
