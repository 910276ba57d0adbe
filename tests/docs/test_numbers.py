"""No number in prose is typed by hand where code could have put it there; numbers that went stale are found."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from bench import everything
from bench.scale import growth, page, runs
from tests.docs.scripts import DOCS, ROOT, run_script
from tests.docs.typed_numbers import typed_numbers

GUIDES = (
    *("index.md", "tutorial.md", "choosing-parameters.md", "labels.md", "bounding.md", "engines.md", "ledger.md"),
    *("service.md", "console.md", "streams.md", "theory.md", "threat-model.md", "known-weaknesses.md"),
    *("own-mechanism.md", "spark.md", "glossary.md"),
)
READ: dict[str, Path] = {name: DOCS / name for name in GUIDES} | {
    name: ROOT / name for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md")
}


@pytest.mark.parametrize("name", READ)
def test_no_number_is_typed(name: str) -> None:
    assert typed_numbers(READ[name].read_text(encoding="utf-8")) == []


STALE = {
    "tutorial.md": {
        "about 17. Queries whose noisy count is not above 107 are held back.": {"17", "107"},
        "A query that 108 people typed appears every other time.": {"108", "every other time"},
        "One that 148 people typed almost always: what about 150 people share.": {"148", "150"},
        "The noise alone moves a count by more than 34 only once in twenty times.": {"34", "once in twenty"},
        "Lines far above the threshold have the plain ±34.": {"34"},
        "At 120 people it is missing about once in four times.": {"once in four"},
        "A label of more than 1,024 bytes.": {"1,024"},
    },
    "choosing-parameters.md": {
        "Where a cell says `108 – 148`, an item that 108 users share appears.": {"108", "148"},
        "With ε = 1 it is 2.7 times, with ε = 4 it is 55 times.": {"2.7", "55"},
        "A δ a hundred times smaller costs about a quarter more users.": {"about a quarter"},
        "6,000 people typed 3,267 different queries.": {"6,000", "3,267"},
    },
    "README.md": {"A value must be shared by 107 people.": {"107"}},
    "ARCHITECTURE.md": {"A draw takes 16 random bits, 48 more where two values are possible.": {"16", "48"}},
    "labels.md": {"It is two or three times as many.": {"two or three times as"}},
}


@pytest.mark.parametrize(
    ("name", "sentence"), [(name, sentence) for name, found in STALE.items() for sentence in found]
)
def test_what_once_went_stale_is_found(name: str, sentence: str) -> None:
    """These sentences stood on the pages beside code that printed something else."""
    page_and_sentence = READ[name].read_text(encoding="utf-8") + f"\n\n{sentence}\n"
    found = {one.partition(": ")[0] for one in typed_numbers(page_and_sentence)}
    assert found == STALE[name][sentence]


@pytest.mark.parametrize(
    "kept_true",
    [
        "An item needs <!--= plan.accuracy.needed[50] -->99<!--/--> users.",
        "Give `items_per_user=77`, or `--rows-per-item 77`.",
        "<!-- figure: a.py b -->\n\n| 77 |\n\n<!-- end of figure -->",
        "```python\nbound = 77\n```\n\nA bound of 77.",
        "```console\n$ unlisted histogram a --items-per-user \\\n    77\n```\n\nA bound of 77.",
        "On 2026-02-01 it was Python 3.11, with a 256-bit key, UTF-8 and (503).",
        "Nine of ten, 1 or 2.",
    ],
)
def test_what_something_keeps_true_is_no_typed_number(kept_true: str) -> None:
    assert typed_numbers(kept_true) == []


@pytest.mark.parametrize(
    "printed",
    [
        '```python\nf()\n```\n\n```text title="prints"\n77\n```\n\nIt is 77.',
        '```text title="prints, for example"\n77\n```\n\nIt is 77.',
        "```console\n$ unlisted demo\n77\n```\n\nIt is 77.",
        "It is `77`.",
        "| it | 77 |",
    ],
)
def test_what_a_program_printed_is_no_input(printed: str) -> None:
    assert [one.partition(": ")[0] for one in typed_numbers(printed)] == ["77"]


def test_benchmarks_are_what_was_measured() -> None:
    kept = json.loads((DOCS / "data" / "benchmarks.json").read_text(encoding="utf-8"))
    written = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert everything.reached(kept) in written
    assert everything.printed(kept) in written


def test_how_cost_grows_is_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = tuple(tmp_path / path.name for path in page.PAGES)
    for path, copy in zip(page.PAGES, copies, strict=True):
        shutil.copy(path, copy)
        # What is not written anew below would be missed.
        copy.write_text(re.sub(r"^\|.*\d.*\|$", "| gone |", copy.read_text(encoding="utf-8"), flags=re.MULTILINE))
    originals = page.PAGES
    monkeypatch.setattr(page, "PAGES", copies)
    monkeypatch.setattr(page, "_draw", lambda *_: None)
    page.write(runs.kept(), growth.exponent)
    for path, copy in zip(originals, copies, strict=True):
        assert copy.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_a_table_of_kept_data_that_was_edited_is_found(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "data").mkdir(parents=True)
    shutil.copy(DOCS / "make_figures.py", docs)
    (docs / "data" / "labels.csv").write_text("table,items,counts\nnpm_owner_words,100,1381\n", encoding="utf-8")
    text = "<!-- data: labels.csv -->\n\n<!-- end of data -->\n"
    (docs / "labels.md").write_text(text, encoding="utf-8")
    assert run_script("make_figures.py", "--check", docs=docs).returncode == 1
    assert run_script("make_figures.py", docs=docs).returncode == 0
    assert run_script("make_figures.py", "--check", docs=docs).returncode == 0
    assert "| npm_owner_words | 100 | 1,381 |" in (docs / "labels.md").read_text(encoding="utf-8")
