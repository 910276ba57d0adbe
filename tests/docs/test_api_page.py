"""Every public name has its place in the API reference, and nothing else is called public there."""

from __future__ import annotations

import re

from tests.docs.scripts import DOCS

import unlisted

SHOWN = re.compile(r"^::: unlisted\.(\w+)$", re.MULTILINE)


def test_the_api_page_shows_the_public_names() -> None:
    shown = SHOWN.findall((DOCS / "api.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(unlisted.__all__)
