"""Labels on a page: escaped, apart from the text around them, with nothing hidden in them."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.server.console.rendering import label, shown


def test_markup_is_escaped() -> None:
    assert shown("<b>&\"'") == "<bdi>&lt;b&gt;&amp;&#34;&#39;</bdi>"


@pytest.mark.parametrize(
    ("label", "number", "name"),
    [
        ("\u202e", "U+202E", "RIGHT-TO-LEFT OVERRIDE"),
        ("\u2066", "U+2066", "LEFT-TO-RIGHT ISOLATE"),
        ("\u200b", "U+200B", "ZERO WIDTH SPACE"),
        ("\ufeff", "U+FEFF", "ZERO WIDTH NO-BREAK SPACE"),
        ("\u00a0", "U+00A0", "NO-BREAK SPACE"),
        ("\u3164", "U+3164", "HANGUL FILLER"),
        ("\ufe0f", "U+FE0F", "VARIATION SELECTOR-16"),
        ("\U000e0041", "U+E0041", "TAG LATIN CAPITAL LETTER A"),
        ("\n", "U+000A", "a character without a name"),
        ("\x00", "U+0000", "a character without a name"),
        ("\ud800", "U+D800", "a character without a name"),
    ],
)
def test_what_takes_no_ink_stands_there_by_its_number(label: str, number: str, name: str) -> None:
    assert shown(f"a{label}b") == f'<bdi>a<span class="unseen" title="{name}">{number}</span>b</bdi>'


def test_blanks_are_seen_at_the_ends_only() -> None:
    mark = '<span class="unseen" title="SPACE">U+0020</span>'
    assert shown(" a b ") == f"<bdi>{mark}a b{mark}</bdi>"
    assert shown("  ") == f"<bdi>{mark}{mark}</bdi>"


def test_nothing_is_not_a_blank_cell() -> None:
    assert "no value" in shown(None)
    assert "empty" in shown("")
    assert shown(7) == "<bdi>7</bdi>"


@given(st.text(max_size=40))
def test_a_page_only_ever_gets_ink(label: str) -> None:
    page = shown(label)
    assert page.isprintable()
    assert not any(unicodedata.bidirectional(c) in ("LRO", "RLO", "LRI", "RLI", "LRE", "RLE") for c in page)
    assert set(re.findall(r"</?(\w+)", page)) <= {"bdi", "span"}


def test_marks_that_are_heaped_up_stand_there_by_their_number() -> None:
    mark = '<span class="unseen" title="COMBINING ACUTE ACCENT">U+0301</span>'
    drawn = "e" + "\u0301" * 4
    assert shown("e" + "\u0301" * 5 + "a") == f"<bdi>{drawn}{mark}a</bdi>"
    assert shown("e" + "\u0301" * 2000) == f'<bdi>{drawn}{mark}<span class="unseen">×1,996</span></bdi>'
    # As people write them: Vietnamese, Hindi, Thai.
    for word in ("Tiê\u0301ng Viê\u0323t", "हिन्दी", "ที่นี่"):
        assert "unseen" not in shown(word)


@pytest.mark.parametrize("size", [121, 10_000, 65_000])
def test_a_long_value_is_shown_by_how_it_begins_and_whole_for_whoever_opens_it(size: int) -> None:
    page = label("<b>" * (size // 3) + "x" * (size % 3))
    begins, _, rest = page.partition("</summary>")
    assert len(begins) < 120 * len("&lt;") + 200
    assert f"{size:,} characters" in begins
    assert rest.count("&lt;b&gt;") == size // 3
    assert set(re.findall(r"</?(\w+)", page)) == {"details", "summary", "bdi", "span"}


def test_a_value_that_fits_is_shown_as_it_is() -> None:
    for value in ("soup", "", None, 7, "x" * 120):
        assert label(value) == shown(value)
