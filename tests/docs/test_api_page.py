"""Every public name has its place in the API reference, and nothing else is called public there."""

from __future__ import annotations

import re

from tests.docs.scripts import DOCS, run_script

import unlisted

SHOWN = re.compile(r"^::: unlisted\.(\w+)$", re.MULTILINE)


def test_the_api_page_shows_the_public_names() -> None:
    shown = SHOWN.findall((DOCS / "api.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(unlisted.__all__)


def test_the_api_page_lists_the_options_as_they_are() -> None:
    done = run_script("make_options.py", "--check")
    assert done.returncode == 0, done.stderr
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert "| `adjacency` | all | `'add_remove'` |" in text
