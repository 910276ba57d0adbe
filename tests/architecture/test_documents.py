"""The pages that newcomers read are true: their Python runs, links lead somewhere, the tree is the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.architecture.source import PACKAGE, REPOSITORY, modules

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
RUN = ("README.md", "ARCHITECTURE.md")

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")
_TREE_LINE = re.compile(r"^(?P<indent> +)(?P<name>[\w.]+/?)(?: {2,}.*)?$")


@pytest.mark.parametrize("page", RUN)
def test_the_page_s_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page are one program, run from top to bottom in an empty folder."""
    blocks = _PYTHON.findall((REPOSITORY / page).read_text("utf-8"))
    assert blocks, f"{page} has no Python to run"
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (REPOSITORY / page).read_text("utf-8")
    assert [link for link in _LINK.findall(text) if not (REPOSITORY / link).exists()] == []


def test_architecture_opens_with_its_sentence() -> None:
    lines = (REPOSITORY / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    first = " ".join(line for line in lines[1:4] if line)
    sentence = "bounded counts, exact noise, and a price whose ceiling is reserved before the noise is drawn."
    assert first.replace("*", "").startswith(f"A release is {sentence}")


def test_the_tree_in_architecture_is_the_tree() -> None:
    """Every top-level name has its line, and a folder that is opened shows all its modules and no others."""
    shown = _shown_tree()
    real = {path.relative_to(PACKAGE).as_posix() for path in modules() if path.name != "__init__.py"}
    top = {name.split("/")[0] for name in real} | {"__init__.py"}
    assert {name.split("/")[0] for name in shown} == top
    opened = {name.rsplit("/", 1)[0] for name in shown if "/" in name}
    for folder in sorted(opened):
        inside = {name for name in real if name.rsplit("/", 1)[0] == folder}
        assert {name for name in shown if name.rsplit("/", 1)[0] == folder and name.endswith(".py")} == inside


def _shown_tree() -> set[str]:
    """Read the block that starts with src/unlisted/: folders end in a slash, what is in them stands further in."""
    text = (REPOSITORY / "ARCHITECTURE.md").read_text("utf-8")
    block = text.split("```\nsrc/unlisted/\n", 1)[1].split("```", 1)[0]
    found: set[str] = set()
    above: list[tuple[int, str]] = []
    for line in block.splitlines():
        match = _TREE_LINE.match(line)
        assert match, f"a line of the tree cannot be read: {line!r}"
        indent = len(match["indent"])
        above = [(depth, name) for depth, name in above if depth < indent]
        path = "/".join([*(name for _, name in above), match["name"].rstrip("/")])
        found.add(path)
        if match["name"].endswith("/"):
            above.append((indent, match["name"].rstrip("/")))
    return found
