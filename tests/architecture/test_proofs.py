"""A mechanism has its proof beside it, and the proof quotes the lines it is about."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.architecture.source import PACKAGE, named, tree

from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.registry import MECHANISMS

WITHOUT_A_MODULE = {"privacy/lemma.md"}
"""What all the proofs use, and no single module is about."""

PROVED_TOO = {
    "counts/weights",
    "mechanisms/groups",
    "mechanisms/lazy_tail",
    "mechanisms/partition_selection/one_round",
    "mechanisms/sparse_histogram",
}
"""Not mechanisms of their own, but claims that mechanisms rest on."""

_FENCE = re.compile(r"^ *```python(?: +(?P<file>\S+))?\n(?P<code>.*?)^ *```$", re.DOTALL | re.MULTILINE)


class Quote(NamedTuple):
    """A block of code in a proof, and the file it says it is from."""

    proof: Path
    source: Path
    code: str


def proofs() -> list[Path]:
    return sorted(PACKAGE.rglob("*.md"))


def mechanisms() -> set[str]:
    """Return the modules that define a mechanism: a class with `guarantee` and `release`, or one over a stream.

    `mechanism.py` and `continual_histogram.py` are what they have in common, and prove nothing.
    """
    found = set()
    for path in sorted((PACKAGE / "mechanisms").rglob("*.py")):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                whole = {"guarantee", "release"} <= methods or "ContinualHistogram" in bases
                if whole and path.stem not in ("mechanism", "continual_histogram"):
                    found.add(named(path).removesuffix(".py"))
    return found


def quotes(proof: Path) -> list[Quote]:
    """Return the blocks of a proof. A block names another file beside or above the proof, or means its module."""
    return [
        Quote(proof, (proof.parent / (found["file"] or f"{proof.stem}.py")).resolve(), found["code"])
        for found in _FENCE.finditer(proof.read_text("utf-8"))
    ]


def stands_in(code: str, text: str) -> bool:
    """Return whether a block is some consecutive lines of a text, but for indentation they all share."""
    wanted = _dedented(code.splitlines())
    lines = text.splitlines()
    return bool(wanted) and any(
        _dedented(lines[start : start + len(wanted)]) == wanted for start in range(len(lines) - len(wanted) + 1)
    )


def test_every_mechanism_is_in_the_registry_and_has_a_proof_of_its_own() -> None:
    """Streams and pay-what-you-get take more than one question, and are no single mechanism."""
    registered = {one.__module__.removeprefix("unlisted.").replace(".", "/") for one in MECHANISMS}
    assert mechanisms() - registered == {
        "mechanisms/pay_what_you_get",
        "mechanisms/continual/binary/histogram",
        "mechanisms/continual/correlated/histogram",
    }
    assert registered <= mechanisms()
    assert all(issubclass(one, Mechanism) for one in MECHANISMS)


@pytest.mark.parametrize("place", sorted(mechanisms() | PROVED_TOO))
def test_a_mechanism_has_a_proof_that_quotes_it(place: str) -> None:
    module = PACKAGE / f"{place}.py"
    proof = module.with_suffix(".md")
    assert proof.exists(), f"{place}.py has no proof beside it"
    assert any(quote.source == module.resolve() for quote in quotes(proof)), f"{place}.md quotes none of its lines"
    text = proof.read_text("utf-8")
    for part in ("## Setting", "## What the code does", "## Claim", "## Proof", "## Special cases"):
        assert any(line.startswith(part) for line in text.splitlines()), f"{place}.md has no part {part!r}"
    assert "## What would break it" in text
    assert proof.name in (ast.get_docstring(tree(module)) or "")


@pytest.mark.parametrize("proof", proofs(), ids=named)
def test_a_proof_has_its_module(proof: Path) -> None:
    assert named(proof) in WITHOUT_A_MODULE or proof.with_suffix(".py").exists()


@pytest.mark.parametrize(
    "quote", [quote for proof in proofs() for quote in quotes(proof)], ids=lambda quote: named(quote.proof)
)
def test_quoted_lines_are_the_source_s_lines(quote: Quote) -> None:
    assert quote.source.exists(), f"{named(quote.proof)} quotes {quote.source.name}, which is not there"
    assert stands_in(quote.code, quote.source.read_text("utf-8")), (
        f"{named(quote.proof)} quotes lines that {quote.source.name} does not have:\n{quote.code}"
    )


@pytest.mark.parametrize("proof", proofs(), ids=named)
def test_every_block_of_a_proof_is_read(proof: Path) -> None:
    """A fence that the pattern misses would be a quote that nobody compares."""
    assert proof.read_text("utf-8").count("```") == 2 * len(quotes(proof))


@pytest.mark.parametrize("proof", proofs(), ids=named)
def test_what_a_proof_refers_to_is_there(proof: Path) -> None:
    """Proofs name each other as `file.md` beside them, or by their place in the package."""
    for name in re.findall(r"`([\w/]+\.(?:md|py))`", proof.read_text("utf-8")):
        assert (proof.parent / name).exists() or (PACKAGE / name).exists(), f"{named(proof)} refers to {name}"


def test_a_changed_line_is_found() -> None:
    source = "def f(x):\n    if x:\n        return x > 1\n    return 0\n"
    assert stands_in("if x:\n    return x > 1\n", source)
    assert not stands_in("if x:\n    return x >= 1\n", source)
    assert not stands_in("if x:\n    return 0\n", source), "lines must be consecutive"
    assert not stands_in("", source)


def _dedented(lines: list[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).splitlines()
