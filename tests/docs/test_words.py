"""The pages speak the language of the field: its terms are there and explained, and private words are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.scripts import DOCS, ROOT
from tests.docs.typed_numbers import prose

WRITTEN_BY_SCRIPTS = {"audit-results.md", "cli.md", "http.md"}
WRITTEN: dict[str, Path] = {
    **{path.name: path for path in sorted(DOCS.glob("*.md")) if path.name not in WRITTEN_BY_SCRIPTS},
    **{name: ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")},
}

TERMS = {
    "partition selection": (
        "README.md",
        "index.md",
        "labels.md",
        "choosing-parameters.md",
        "tutorial.md",
        "theory.md",
    ),
    "contribution bounding": ("README.md", "index.md", "bounding.md", "engines.md", "ARCHITECTURE.md"),
    "zcdp": ("README.md", "theory.md", "tutorial.md", "ledger.md", "threat-model.md", "SECURITY.md"),
    "l0": ("README.md", "bounding.md", "choosing-parameters.md", "theory.md", "ARCHITECTURE.md"),
    "l∞": ("README.md", "bounding.md", "choosing-parameters.md", "theory.md", "ARCHITECTURE.md"),
    "privacy filter": ("README.md", "ledger.md", "theory.md", "ARCHITECTURE.md"),
    "continual release": ("README.md", "streams.md", "console.md"),
    "failure event": ("theory.md", "choosing-parameters.md", "audit.md"),
    "weight rerouting": ("README.md", "labels.md"),
    "count-of-counts profile": ("bounding.md", "spark.md", "ARCHITECTURE.md"),
}

PRIVATE = re.compile(
    r"telling (?:outcome|answer)|moved counts|what moves|\brivals\b|\bone look\b|\bgiv(?:es?|en|ing) back\b"
    r"|said shortly|\bcoins?\b|nobody waits for company|is no unlisted service|not promised results"
    r"|\bthe scales\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("term", TERMS)
def test_a_term_of_the_field_is_used_and_explained(term: str) -> None:
    for name in (*TERMS[term], "glossary.md"):
        said = " ".join(WRITTEN[name].read_text(encoding="utf-8").lower().split())
        assert term in said, f"{name} does not say {term}"


@pytest.mark.parametrize("name", WRITTEN)
def test_no_private_word_is_left(name: str) -> None:
    text = WRITTEN[name].read_text(encoding="utf-8")
    text = re.sub(r"<!-- (\w+).*?<!-- end of \1 -->", " ", text, flags=re.DOTALL)
    assert PRIVATE.findall(prose(text)) == []


def test_a_private_word_would_be_found() -> None:
    assert PRIVATE.findall("Rounds find fewer than one look does, and a label is given back.") == [
        "one look",
        "given back",
    ]


def test_every_term_of_the_glossary_leads_to_where_it_is_used() -> None:
    terms = (DOCS / "glossary.md").read_text(encoding="utf-8").split("\n### ")[1:]
    assert len(terms) > 30
    for term in terms:
        name, _, explained = term.partition("\n## ")[0].partition("\n")
        assert re.search(r"\]\([\w-]+\.md(?:#[\w-]+)?\)", explained), f"{name} leads nowhere"
        # One to three sentences, of which the link may be one more.
        assert 1 <= len(re.findall(r"[.:](?:\s|$)", explained)) <= 5, name
