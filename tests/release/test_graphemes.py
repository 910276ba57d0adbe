"""Text is cut between what a reader sees as characters."""

from __future__ import annotations

import pytest

from unlisted.release.graphemes import columns_of, cut, graphemes, unheaped

FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
FLAGS = ("\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7")
HANGUL = "\u1112\u1161\u11ab"


@pytest.mark.parametrize(
    "characters",
    [
        ["a", "b"],
        ["e\u0301", "x"],
        [FAMILY, FAMILY],
        list(FLAGS),
        ["\N{WAVING HAND SIGN}\U0001f3fd", "!"],
        ["\N{BLACK HEART SUIT}\N{VARIATION SELECTOR-16}", "a"],
        [HANGUL, HANGUL],
        ["\U0001f1e9\U0001f1ea", "\U0001f1eb"],
    ],
)
def test_characters_are_what_a_reader_sees(characters: list[str]) -> None:
    assert list(graphemes("".join(characters))) == characters


def test_nothing_is_lost_and_marks_cannot_be_heaped_up() -> None:
    heap = "e" + "\u0301" * 1000
    found = list(graphemes(heap))
    assert "".join(found) == heap
    assert max(map(len, found)) <= 16
    assert len(cut(heap, 5)) < 100


@pytest.mark.parametrize("text", ["", "soup", "a" * 40, FAMILY * 20])
def test_what_fits_stays_as_it_is(text: str) -> None:
    assert cut(text, 40) == text


@pytest.mark.parametrize("text", ["a" * 41, "a" * 38 + "\N{BIRTHDAY CAKE}" + "bc", FAMILY * 21, "日本" * 30])
def test_what_is_cut_fits_and_says_so(text: str) -> None:
    short = cut(text, 40)
    assert short.endswith("…")
    assert sum(map(columns_of, graphemes(short))) <= 40
    assert text.startswith(short[:-1])
    assert list(graphemes(text))[: len(list(graphemes(short))) - 1] == list(graphemes(short))[:-1]


def test_flags_and_emoji_are_wide() -> None:
    wide = (FLAGS[0], FAMILY, "\N{BLACK HEART SUIT}\N{VARIATION SELECTOR-16}", "日")
    assert [columns_of(one) for one in (*wide, "a", "e\u0301")] == [4, 2, 2, 2, 1, 1]
    assert len(list(graphemes(cut(FLAGS[0] * 60, 40)))) == 10


def test_marks_that_are_heaped_up_are_left_out_with_an_ellipsis() -> None:
    assert unheaped("e" + "\u0301" * 500 + "a") == "e" + "\u0301" * 4 + "…a"
    assert unheaped("Tiê\u0301ng") == "Tiê\u0301ng"
