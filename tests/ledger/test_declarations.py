"""One source, one budget: a second data set over it is opened only if that is said."""

from __future__ import annotations

import pytest
from tests.ledger.books import budget, charge, delivers

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.declarations import shared_warning, sharing
from unlisted.ledger.schema import datasets
from unlisted.ledger.verify import verify


def test_a_second_data_set_over_a_source_is_refused_with_the_way_out(ledger):
    ledger.create_dataset("searches", budget=budget(), source="searches.parquet")
    with pytest.raises(InvalidArgumentError, match=r"'searches' has it.*open an account on.*--shares-source"):
        ledger.create_dataset("again", budget=budget(), source="searches.parquet")
    assert [one.name for one in ledger.datasets()] == ["searches"]
    ledger.create_dataset("again", budget=budget(), source="searches.parquet", shares_source=True)
    assert verify(ledger) == []


def test_a_first_question_that_fixes_the_source_of_another_is_refused_uncharged(ledger):
    first = ledger.open("ads", dataset="searches", budget=budget())
    second = ledger.open("ops", dataset="again", budget=budget())
    first.pay(charge("q"), delivers())
    with pytest.raises(InvalidArgumentError, match=r"'searches' has it.*Nothing was charged"):
        second.pay(charge("q"), delivers())
    assert second.balance().account.used.loss == 0
    assert ledger.dataset("again").source is None
    assert second.pay(charge("q", source="orders.parquet"), delivers()).release == b"a release"
    # Once it is fixed, nobody looks again.
    assert first.pay(charge("q2"), delivers()).release == b"a release"


def test_a_data_set_that_may_share_its_source_does(ledger):
    ledger.open("ads", dataset="searches", budget=budget()).pay(charge("q"), delivers())
    ledger.create_dataset("again", budget=budget(), shares_source=True)
    assert (
        ledger.open("ops", dataset="again", budget=budget()).pay(charge("q"), delivers()).release == b"a release"
    )


@pytest.mark.parametrize("nameless", ["a data frame", "declared counts"])
def test_what_lies_nowhere_may_be_two_things_of_one_name(ledger, nameless):
    ledger.create_dataset("one", budget=budget(), source=nameless)
    ledger.create_dataset("two", budget=budget(), source=nameless)
    assert sharing(ledger.dataset("one"), ledger.datasets()) == []


def test_data_sets_from_before_go_on_and_are_named(ledger):
    accounts = [ledger.open(name, dataset=name, budget=budget()) for name in ("one", "two")]
    with ledger.store.writing() as connection:
        connection.execute(datasets.update().values(shares_source=True))
    for account in accounts:
        account.pay(charge("q"), delivers())
    known = ledger.datasets()
    assert sharing(known[0], known) == ["two"]
    assert "'one' is about the same source as 'two'" in shared_warning(known[0], ["two"])
