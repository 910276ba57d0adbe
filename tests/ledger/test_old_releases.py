"""A ledger and receipts that version 0.1 wrote: they open, verify and go on, and are read as they were meant.

A release had one guarantee then. For a ranking that an account paid for, it was what was spent.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.shell import unlisted
from tests.ledger.books import charged

import unlisted as ul
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.stored_releases import StoredRelease, stored_releases
from unlisted.ledger.verify import verify

KEPT = Path(__file__).parent.parent / "golden" / "version-0.1"
KINDS = ("histogram", "ranking", "ranking-with-counts", "label-ranking")
BUDGET = ul.Budget(epsilon=1, delta="1e-8")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    shutil.copy(KEPT / "books.db", tmp_path / "books.db")
    with Ledger(tmp_path / "books.db") as ledger:
        yield ledger


def receipt_of(kind: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((KEPT / f"{kind}.json").read_text())
    return found


def stored(book: Ledger, kind: str) -> tuple[StoredRelease, Entry, Entry]:
    """Return an answer with the entries that reserved and that settled it."""
    number = receipt_of(kind)["ledger"]["entry"]
    found = {one.paid.number: one for one in stored_releases(book, "kitchen", None)}[number]
    entries = {entry.number: entry for entry in book.history()}
    return found, entries[entries[number].reservation], entries[number]


def cooked() -> ul.PrivateTable:
    pairs = [(f"u{user}", "soup") for user in range(200)] + [(f"u{user}", "bread") for user in range(120)]
    return ul.table(pa.table({"user": [one for one, _ in pairs], "dish": [one for _, one in pairs]}), user="user")


def test_the_ledger_and_its_receipts_add_up(book: Ledger, tmp_path: Path) -> None:
    assert verify(book, [receipt_of(kind) for kind in KINDS]) == []
    receipts = [word for kind in KINDS for word in ("--receipt", KEPT / f"{kind}.json")]
    done = unlisted("ledger", "verify", "--ledger", tmp_path / "books.db", *receipts)
    assert (done.code, done.text) == (0, "The ledger adds up: 11 entries, 4 receipts.\n")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_spent_is_what_the_ledger_says_and_the_guarantee_is_the_ceiling(kind: str, book: Ledger) -> None:
    found, reserved, settled = stored(book, kind)
    release = ul.Release.from_bytes(found.paid.release, stamp=found.paid.stamp)
    assert charged(release.spent) == settled.amount
    said = receipt_of(kind)["guarantee"]
    assert release.as_dict()["spent"] == {"rho": said["rho"], "delta": said["delta"]}
    ceiling = reserved.amount.guarantee()
    assert charged(release.guarantee).loss >= reserved.amount.loss
    assert float(release.guarantee.rho) == pytest.approx(float(ceiling.rho), rel=1e-4)
    assert charged(release.guarantee).delta == reserved.amount.delta
    assert (release.guarantee.rho > release.spent.rho) == (kind != "histogram")


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_ledger_nothing_is_said_to_be_charged(kind: str, book: Ledger) -> None:
    found, reserved, _ = stored(book, kind)
    release = ul.Release.from_bytes(found.paid.release)
    assert release.spent is None
    assert charged(release.guarantee).loss >= reserved.amount.loss
    assert "harged" not in str(release)


@pytest.mark.parametrize("kind", KINDS)
def test_written_anew_it_says_both(kind: str, book: Ledger) -> None:
    found, _, _ = stored(book, kind)
    old = ul.Release.from_bytes(found.paid.release, stamp=found.paid.stamp)
    new = ul.Release.from_bytes(old.to_bytes())
    assert (new.guarantee, new.spent) == (old.guarantee, old.spent)
    assert replace(new, stamp=old.stamp).receipt() == old.receipt()


def test_asked_again_the_old_answer_comes_back_with_the_exact_ceiling(book: Ledger) -> None:
    before = book.history()
    plan = cooked().top("dish", k=8, budget=BUDGET, account=book.account("ads"))
    release = plan.run(idempotency_key="ranking")
    assert book.history() == before, "a repeat costs nothing"
    assert release.guarantee == plan.guarantee
    assert release.spent.rho == plan.mechanism.draw_price().rho, "⊥ came first"


def test_the_ledger_goes_on(book: Ledger) -> None:
    plan = cooked().histogram("dish", budget=BUDGET, items_per_user=1, account=book.account("ads"))
    receipt = plan.run().receipt()
    assert verify(book, [receipt, *(receipt_of(kind) for kind in KINDS)]) == []
    newest, *older = stored_releases(book, "kitchen", None)
    assert newest.paid.stamp["hash"] == receipt["ledger"]["hash"]
    assert len(older) == len(KINDS), "answers of both formats are listed"
