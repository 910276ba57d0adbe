"""The examples in the docstrings of public names are run, as they stand."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import unlisted as ul
from unlisted.demo.searches import searches

FINDER = doctest.DocTestFinder(exclude_empty=True, recurse=True)


def examples() -> Iterator[doctest.DocTest]:
    """Yield the examples of every public name, of classes with their methods, also those they inherit."""
    seen = set()
    for name in ul.__all__:
        found = getattr(ul, name)
        classes = inspect.getmro(found) if inspect.isclass(found) else (found,)
        for one in classes:
            if getattr(one, "__module__", "").startswith("unlisted") and one not in seen:
                seen.add(one)
                yield from (test for test in FINDER.find(one, one.__name__) if test.examples)


EXAMPLES = list(examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_does_as_it_says(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example.globs = {"ul": ul, "searches": searches}
    said: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(said)


def test_every_question_has_an_example() -> None:
    named = {example.name for example in EXAMPLES}
    assert {f"Askable.{kind}" for kind in ("histogram", "top", "top_histogram", "labels")} <= named
