"""The pages that newcomers read are true: they run, links and files are there, the tree is the tree."""

from __future__ import annotations

import re

import pytest
from tests.architecture.source import PACKAGE, REPOSITORY, modules
from tests.docs.scripts import run_script

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
RUN = ("README.md", "ARCHITECTURE.md")

_LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)")
_TREE_LINE = re.compile(r"^(?P<indent> +)(?P<name>[\w.]+/?)(?: {2,}.*)?$")


@pytest.mark.parametrize("page", RUN)
def test_the_page_runs(page: str) -> None:
    """Its Python, its commands and the numbers in its prose, from top to bottom in an empty folder."""
    assert "```python\n" in (REPOSITORY / page).read_text("utf-8"), f"{page} has no Python to run"
    done = run_script("run_pages.py", page)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (REPOSITORY / page).read_text("utf-8")
    assert [link for link in _LINK.findall(text) if not (REPOSITORY / link).exists()] == []


def test_architecture_opens_with_its_sentence() -> None:
    lines = (REPOSITORY / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    first = " ".join(line for line in lines[1:4] if line)
    sentence = "bounded counts, exact noise, and a price whose ceiling is reserved before the noise is drawn."
    assert first.replace("*", "").startswith(f"A release is {sentence}")


def test_ten_questions_have_ten_files() -> None:
    """Each is there, and in the tree of ARCHITECTURE.md, which is all that a newcomer is given."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition("## Ten questions, ten files\n")[2].partition("\n## ")[0]
    answers = re.findall(r"^\d+\. .*\? `(src/unlisted/[\w/]+\.py)`$", section, re.MULTILINE)
    assert len(set(answers)) == len(answers) == 10
    for answer in answers:
        assert (REPOSITORY / answer).is_file(), answer
        assert answer.removeprefix("src/unlisted/") in _shown_tree()


def test_files_that_contributing_names_are_there() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", text))
    assert len(named) > 30
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == []


def test_every_folder_of_the_package_has_its_tests_named() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    section = text.partition("## Where the tests are\n")[2].partition("\n## ")[0]
    folders = {path.relative_to(PACKAGE).parts[0] for path in modules() if path.parent != PACKAGE}
    assert {folder for folder in folders if f"| `src/unlisted/{folder}/` | `tests/" not in section} == set()


def test_files_on_the_walks_are_in_the_tree() -> None:
    text = (REPOSITORY / "ARCHITECTURE.md").read_text("utf-8")
    steps = re.findall(r"^\| \d+ \| ([^|]+) \|", text, re.MULTILINE)
    files = [file for step in steps for file in re.findall(r"`([\w/]+\.py)`", step)]
    assert len(steps) > 20
    assert [file for file in files if file not in _shown_tree()] == []


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
