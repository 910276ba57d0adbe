"""How much the pattern of answers and failures can tell: the count in the threat model, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import pytest


def patterns(questions: int, failures: int) -> int:
    """The number of the threat model."""
    return sum(comb(questions, failed) for failed in range(failures + 1))


def transcripts(questions: int, failures: int) -> set[str]:
    """All that can be seen: answers and failures, up to the last question or the failure that freezes."""
    seen = set()
    for ends in product("af", repeat=questions):
        ended = "".join(ends)
        for at in range(questions):
            if ended[: at + 1].count("f") == failures:
                ended = ended[: at + 1]
                break
        seen.add(ended)
    return seen


@pytest.mark.parametrize("failures", [1, 2, 3, 4])
@pytest.mark.parametrize("questions", [1, 2, 5, 9, 12])
def test_there_are_so_many_patterns(questions: int, failures: int) -> None:
    assert len(transcripts(questions, failures)) == patterns(questions, failures)


@cache
def told_apart(questions: int, failures: int) -> int:
    """How many secrets an analyst can tell apart who chooses each question by what came before."""
    if not questions or not failures:
        return 1
    return told_apart(questions - 1, failures) + told_apart(questions - 1, failures - 1)


@pytest.mark.parametrize(("questions", "failures"), [(5, 2), (12, 3), (100, 3), (300, 20)])
def test_no_smaller_number_would_be_true(questions: int, failures: int) -> None:
    """Whoever could choose for which secrets a question fails would tell exactly so many apart."""
    assert told_apart(questions, failures) == patterns(questions, failures)


def test_one_failure_is_more_than_one_bit() -> None:
    """Which of a hundred questions was the one that failed: a wrong way to count says 2 to the power of 1."""
    assert patterns(100, 1) == 101 > 2**1


@pytest.mark.parametrize(("questions", "failures"), [(3, 1), (4, 2), (5, 3)])
def test_guessing_the_pattern_proves_the_bound(questions: int, failures: int) -> None:
    """The proof's step: who sees no failure but guesses the pattern sees the same with a chance of 1 / patterns.

    Both draw the same noise. A question fails here if the data says so and its own noise is 1: whatever decides
    it, the pattern that comes of it is among those that are guessed.
    """
    guesses = sorted(transcripts(questions, failures))
    for decided in product([False, True], repeat=questions):
        for noise in product("01", repeat=questions):
            fails = [decided[at] and noise[at] == "1" for at in range(questions)]
            view = _view(fails, noise, failures)
            same = sum(_view([letter == "f" for letter in guess], noise, failures) == view for guess in guesses)
            assert Fraction(same, len(guesses)) >= Fraction(1, patterns(questions, failures))


def _view(fails: list[bool], noise: tuple[str, ...], failures: int) -> str:
    """What is seen: noisy answers, and F for a failure, until there are as many as freeze."""
    seen = ""
    for failed, answer in zip(fails, noise, strict=False):
        seen += "F" if failed else answer
        if seen.count("F") == failures:
            break
    return seen
