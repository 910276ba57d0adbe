"""Every mutant is caught by an auditor, and no repair is: an audit that finds nothing on these is blind."""

from __future__ import annotations

from functools import cache

import pytest
from tests.audit.repeatable import repeatable

from unlisted.audit.black_box import black_box
from unlisted.audit.exact import exact_audit
from unlisted.audit.lemma import Verdict
from unlisted.audit.mutants.catalogue import MUTANTS
from unlisted.audit.mutants.mutant import Mutant

NAMES = [mutant.__name__ for mutant in MUTANTS]
RARE = {"at_least_for_above_rarely"}
"""Too unlikely for any number of runs; only an exact law shows it."""

FALSE_ALARM_TRIALS = 6000
"""That a true claim is let through does not depend on how often it is tried."""


@cache
def mutant(name: str) -> Mutant:
    return MUTANTS[NAMES.index(name)](repeatable(name))


EXACT = [name for name in NAMES if mutant(name).subject.law is not None]


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_law_shows_the_mistake(name: str) -> None:
    assert exact_audit(mutant(name).subject).verdict is Verdict.violated


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RARE])
def test_running_it_shows_the_mistake(name: str) -> None:
    wrong = mutant(name)
    found = black_box(wrong.subject, trials=wrong.trials)
    assert found.against is not None, f"{wrong.wrong} Not seen: {[str(one) for one in found.evidence]}"


@pytest.mark.parametrize("name", RARE)
def test_what_no_number_of_runs_would_show_has_an_exact_law(name: str) -> None:
    assert black_box(mutant(name).subject, trials=20_000).against is None
    assert name in EXACT


@pytest.mark.parametrize("name", [name for name in NAMES if mutant(name).repaired.law is not None])
def test_the_exact_law_of_the_repair_keeps_the_claim(name: str) -> None:
    assert exact_audit(mutant(name).repaired).verdict is not Verdict.violated


@pytest.mark.parametrize("name", NAMES)
def test_running_the_repair_shows_nothing(name: str) -> None:
    found = black_box(mutant(name).repaired, trials=FALSE_ALARM_TRIALS)
    assert found.against is None, f"a false alarm: {found.against}"


def test_there_are_enough_mistakes_and_each_says_what_is_wrong() -> None:
    mutants = [mutant(name) for name in NAMES]
    assert len(mutants) >= 15
    assert len({one.subject.name for one in mutants}) == len({one.wrong for one in mutants}) + 1 == len(mutants)
    assert all(one.wrong.endswith(".") and one.wrong.count(". ") == 0 for one in mutants)
