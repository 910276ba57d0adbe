"""The threat model names a test for each thing it lists, and the tests are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_the_page_names_is_there() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 20
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in tests, f"{file} has no {name}"


def test_every_way_to_fail_names_its_test() -> None:
    table = PAGE.partition("### What can make a question fail")[2].partition("\n###")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    assert [row for row in rows if not NAMED.search(row)] == []


def test_every_test_of_failing_engines_is_on_the_page() -> None:
    tree = ast.parse((ROOT / "tests/threats/test_engines_that_fail.py").read_text(encoding="utf-8"))
    tests = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert {name for _, name in NAMED.findall(PAGE)} >= tests - {
        "test_the_folder_for_what_does_not_fit_is_gone_afterwards"
    }
