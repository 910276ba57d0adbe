"""The site builds without a warning, and a reader's browser needs nobody else."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import missing
from tests.docs.scripts import PAGES, ROOT

import unlisted

# What a browser fetches by itself; a link that somebody may click is no such thing.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?([^\"'\s>]+)|<link\b[^>]*\bhref=[\"']?([^\"'\s>]+)"
)
IN_STYLES = re.compile(r"url\([\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(package) is None:
            missing(f"{package} is not installed (pip install mkdocs-material 'mkdocstrings[python]')")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    assert [page for page in PAGES if not (site / page.replace(".md", ".html")).is_file()] == []


def test_scripts_are_not_published(site: Path) -> None:
    assert list(site.rglob("*.py")) == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = {
        part
        for kind, pattern in (("*.html", FETCHED), ("*.css", IN_STYLES))
        for path in site.rglob(kind)
        for found in pattern.findall(path.read_text(encoding="utf-8"))
        for part in found
        if part
    }
    assert any(part.endswith(".css") for part in fetched)
    assert [part for part in fetched if part.startswith(("http:", "https:", "//"))] == []


def test_the_api_reference_has_what_the_code_says(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert [name for name in unlisted.__all__ if f'id="unlisted.{name}"' not in page] == []
    assert "Plan the counts of every value that enough users share" in page
