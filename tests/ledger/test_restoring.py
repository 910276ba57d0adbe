"""After a restore the ledger tells the truth: what the copy has forgotten is found, and booked once."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from tests.ledger.books import budget, charge, cost, delivers

import unlisted as ul
from unlisted.errors import BudgetRefusedError, InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.restoring import book_losses, lost_of_export, lost_of_receipts, read_export
from unlisted.ledger.signing import as_pem, read_public_keys, wrong_with
from unlisted.ledger.verify import verify


def copied(place: Path, name: str) -> Path:
    """Return a copy of a SQLite ledger as of now."""
    copy = place.with_name(name)
    with Ledger(place) as book, book.store.reading() as connection:
        connection.connection.execute("COMMIT")
        connection.connection.execute(f"VACUUM INTO '{copy}'")
        connection.connection.execute("BEGIN")
    return copy


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "budget.db"
    with Ledger(place) as book:
        book.create_dataset("searches", budget=budget("1"), version="november")
        account = book.open("ads", dataset="searches", budget=budget("1"))
        account.pay(charge("before", "0.7"), delivers(used=cost("0.7")))
    return place


def used(book: Ledger) -> str:
    return book.dataset("searches").used.texts[0]


def test_a_restored_ledger_books_what_an_export_holds_and_spends_no_more_than_its_total(place):
    """The trial's fault: ρ = 1.3 was spent of 1.0, and `verify` said that all adds up."""
    copy = copied(place, "monday.db")
    with Ledger(place) as book:
        book.account("ads").pay(charge("after", "0.3"), delivers(used=cost("0.2")))
        lines = list(book.export_lines())
    with Ledger(copy) as restored:
        assert verify(restored) == []
        assert [one.endswith("cut or restored") for one in verify(restored, export=lines)] == [True, True]
        lost = lost_of_export(restored, *read_export(lines))
        assert [(one.account, one.amount.texts[0]) for one in lost.losses] == [("ads", "0.2")]
        book_losses(restored, lost, "a disk died")
        assert used(restored) == "0.9"
        assert restored.account("ads").balance().account.used.texts[0] == "0.9"
        assert verify(restored, export=lines) == []
        # Not twice.
        assert lost_of_export(restored, *read_export(lines)).losses == []
        with pytest.raises(BudgetRefusedError):
            restored.account("ads").pay(charge("more", "0.2"), delivers())
        assert [entry.kind for entry in restored.history()][-1] == "charged"


def test_who_went_on_before_booking_has_overspent_and_is_told(place):
    copy = copied(place, "monday.db")
    with Ledger(place) as book:
        book.account("ads").pay(charge("after", "0.3"), delivers(used=cost("0.3")))
        lines = list(book.export_lines())
    with Ledger(copy) as restored:
        restored.account("ads").pay(charge("other", "0.3"), delivers(used=cost("0.3")))
        book_losses(restored, lost_of_export(restored, *read_export(lines)), "")
        assert used(restored) == "1.3"
        (problem,) = verify(restored, export=lines)
        assert "more was spent than its total: ρ = 1.3" in problem
        with pytest.raises(BudgetRefusedError):
            restored.account("ads").pay(charge("tiny", "0.000001"), delivers())


def test_a_question_that_was_open_costs_its_ceiling_and_one_that_the_copy_holds_nothing_more(place):
    copies = []

    def while_open():
        copies.append(copied(place, "open.db"))
        return b"a release", cost("0.1")

    with Ledger(place) as book:
        held = []

        def while_second_open():
            held.extend(book.export_lines())
            return b"a release", cost("0.05")

        book.account("ads").pay(charge("held", "0.2"), while_open)
        book.account("ads").pay(charge("lost", "0.1"), while_second_open)
    with Ledger(copies[0]) as restored:
        lost = lost_of_export(restored, *read_export(held))
        # The copy holds the ceiling of "held" itself; of "lost", it holds nothing.
        assert [one.amount.texts[0] for one in lost.losses] == ["0.1"]


def test_versions_and_keys_that_were_lost_are_named(place):
    from unlisted.server.auth import KeyRing

    copy = copied(place, "monday.db")
    with Ledger(place) as book:
        book.declare_version("searches", "december")
        KeyRing(book).create("Ana", granted={"searches": "ads"})
        lines = list(book.export_lines())
    with Ledger(copy) as restored:
        lost = lost_of_export(restored, *read_export(lines))
        assert [one.split(",")[0] for one in lost.again] == ["searches: declared december"]
        assert [one.split(",")[0].split(": ")[1] for one in lost.keys] == ["made", "granted"]
        assert len(verify(restored, export=lines)) == 3


@pytest.mark.parametrize("change", [lambda line: line.replace("0.7", "0.1"), lambda line: "{", lambda line: "[]"])
def test_an_export_that_was_changed_is_refused(place, change):
    with Ledger(place) as book:
        lines = list(book.export_lines())
        lines[2] = change(lines[2])
        with pytest.raises(InvalidArgumentError, match="line 3"):
            read_export(lines)


def receipt_of(book: Ledger, **options: object) -> dict:
    table = ul.table(
        pa.table({"user": range(400), "query": ["soup" if user % 4 else "tea" for user in range(400)]}),
        user="user",
    )
    account = book.account("ads")
    plan = table.histogram(
        "query", budget=ul.Budget(rho="0.05", delta=1e-9), items_per_user=1, account=account, **options
    )
    return json.loads(json.dumps(plan.run().receipt()))


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    place = tmp_path / "frames.db"
    with Ledger(place) as book:
        book.create_dataset("searches", budget=budget("1"), version="november")
        book.open("ads", dataset="searches", budget=budget("1"))
    return place


def test_receipts_that_a_copy_has_forgotten_are_booked_once_and_exactly(shared):
    copy = copied(shared, "monday.db")
    with Ledger(shared) as book:
        receipt = receipt_of(book)
    with Ledger(copy) as restored:
        assert len(verify(restored, [receipt])) == 1
        book_losses(restored, lost_of_receipts(restored, [receipt, receipt]), "")
        assert used(restored) == "0.05"
        assert verify(restored, [receipt]) == []
        assert lost_of_receipts(restored, [receipt]).losses == []


def test_a_receipt_carries_the_version_and_is_checked_with_the_public_key_alone(shared):
    with Ledger(shared) as book:
        receipt = receipt_of(book)
        keys = read_public_keys("".join(as_pem(one) for one in book.public_keys()).encode())
        assert receipt["ledger"]["version"] == "november"
        assert wrong_with(receipt, keys) is None
        # A repeat is signed too.
        assert wrong_with(receipt_of(book), keys) is None
        book.renew_signing_key()
        later = receipt_of(book, count="users", where=None)
        assert wrong_with(later, keys) is not None
        assert verify(book, [receipt, later]) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["ledger"].update(version="december"),
        lambda one: one["ledger"].update(rho="0.01"),
        lambda one: one["ledger"].pop("receipt_sha256"),
        lambda one: one["plan"].update(threshold=1),
        lambda one: one["guarantee"].update(rho=0.01),
        lambda one: one.update(released_sha256="0" * 64),
        lambda one: one["ledger"].update(signature="AAAA"),
        lambda one: one["ledger"].update(signature="not base64!"),
        lambda one: one["ledger"].pop("signature"),
    ],
)
def test_a_receipt_that_was_changed_is_found(shared, change):
    with Ledger(shared) as book:
        receipt = receipt_of(book)
        change(receipt)
        assert wrong_with(receipt, book.public_keys()) is not None


def test_a_stated_amount_is_booked_also_beyond_the_total(place):
    with Ledger(place) as book:
        book.charge("searches", Amount.charge(cost("0.5")), reason="who knows")
        assert book.dataset("searches").left.loss < 0
        assert any("more was spent" in one for one in verify(book))
