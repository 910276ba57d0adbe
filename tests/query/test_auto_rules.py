"""The numbers in the rules of `auto` are those that one half of the public tables fixes, and hold on the other."""

from __future__ import annotations

from fractions import Fraction

import pytest
from bench.utility import auto_rules
from bench.utility.auto_rules import CHECK, FIX, NAMES, RULES, Rule, cells_of, kept

from unlisted.privacy.guarantee import Budget
from unlisted.query.choosing import chosen_for
from unlisted.query.questions import Histogram, Labels, Top

LEAST_ELSEWHERE = 0.9
"""On tables that fixed nothing, a rule finds at least this part of what the best method finds."""

TAKEN = {
    "threshold_histogram": "threshold",
    "truncated_histogram": "truncated",
    "counted_labels": "counts",
    "optimal_labels": "optimal",
    "hinted_label_rounds": "hints",
    "top_k": "gumbel",
    "found_top_k": "find",
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_number_is_the_best_where_it_was_fixed(rule: Rule) -> None:
    assert rule.now in rule.best(cells_of(rule.name, FIX))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rule_holds_on_the_other_tables(rule: Rule) -> None:
    cells = cells_of(rule.name, CHECK)
    assert rule.score(cells, rule.now) > LEAST_ELSEWHERE
    # It knows something: no way that is taken whatever the question does as well on all tables.
    everywhere = cells_of(rule.name, NAMES)
    always = [_always(rule, way).score(everywhere, None) for way in rule.ways]
    assert rule.score(everywhere, rule.now) > max(always)


def _always(rule: Rule, way: str) -> Rule:
    return Rule(rule.name, (None,), rule.ways, lambda *_: way, None)


def test_every_table_has_its_half_and_was_measured() -> None:
    assert sorted(FIX + CHECK) == sorted(NAMES)
    for cells in kept().values():
        assert {cell["table"] for cell in cells} == set(NAMES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_program_takes_what_the_rule_says(rule: Rule) -> None:
    """For every question that was measured, on one table: the others are asked the same."""
    for cell in cells_of(rule.name, ["demo"]):
        told = {"items": ("item",), "budget": Budget(epsilon=cell["epsilon"], delta=cell["delta"])}
        if rule.name == "top":
            question: Histogram | Labels | Top = Top(**told, k=cell["k"])
        else:
            question = (Histogram if rule.name == "histogram" else Labels)(**told, items_per_user=cell["items"])
        taken = chosen_for(question, one_shot=True).mechanism.describe().name
        assert TAKEN[taken] == rule.takes(cell, rule.now), cell


def test_a_worse_number_scores_less() -> None:
    rankings = next(rule for rule in RULES if rule.name == "top")
    cells = cells_of("top", FIX)
    assert rankings.score(cells, Fraction(1)) < rankings.score(cells, rankings.now)
    assert rankings.score(cells, Fraction(100)) < rankings.score(cells, rankings.now)


def test_the_pages_show_what_was_measured() -> None:
    shown = auto_rules.tables()
    assert set(shown) == {"labels", "rankings", "few_items", "rules"}
    assert all(name in shown["labels"] for name in NAMES)
