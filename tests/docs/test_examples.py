"""The examples in the docstrings of public names are run, as they stand."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.source import PACKAGE

import unlisted as ul
from unlisted.demo.searches import searches
from unlisted.query.questions import KINDS

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


def _is_raised(found: object) -> bool:
    return inspect.isclass(found) and issubclass(found, BaseException)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_does_as_it_says(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example.globs = {"ul": ul, "searches": searches}
    said: list[str] = []
    results = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(said)


def test_every_question_has_an_example() -> None:
    named = {example.name.rpartition(".")[2] for example in EXAMPLES}
    assert {kind.replace("-", "_") for kind in KINDS} <= named


EXPLAINED = [name for name in ul.__all__ if not _is_raised(getattr(ul, name))]
PROVED = {
    "Budget",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EpsilonDelta",
    "Guarantee",
    "Ledger",
    "PayWhatYouGet",
    "ResultsBudget",
    "RunningHistogram",
    "Stream",
    "ThresholdHistogram",
    "TopHistogram",
    "TopK",
}
"""What makes a claim of its own. The others are values, or hand a question on to one of these."""


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_parameter_of_a_public_name_is_explained(name: str) -> None:
    found = getattr(ul, name)
    text = inspect.getdoc(found) or ""
    for parameter in inspect.signature(found).parameters:
        assert re.search(rf"^    {parameter}: ", text, re.MULTILINE), f"{name} does not explain {parameter}"


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(ul, name)) or "")


@pytest.mark.parametrize("name", sorted(PROVED))
def test_what_makes_a_claim_names_its_theorem(name: str) -> None:
    theorem = (inspect.getdoc(getattr(ul, name)) or "").partition("\nTheorem: ")[2]
    assert theorem
    for proof in re.findall(r"`([\w/]+\.md)`", theorem):
        assert (PACKAGE / proof).is_file(), proof
