"""What an owner does besides opening and closing: policies, moves, forfeits, and who asked."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.ledger.books import Clock, budget, charge, cost, delivers

from unlisted.errors import BudgetRefusedError, ChargedFailureError, InvalidArgumentError, LedgerError
from unlisted.ledger import heartbeat
from unlisted.ledger.amounts import Amount
from unlisted.ledger.display import protects_nobody
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.policy import Policy
from unlisted.ledger.schema import questions
from unlisted.ledger.verify import verify


@pytest.fixture
def account(ledger: Ledger):
    ledger.create_dataset("searches", budget=budget("5"), version="november")
    return ledger.open("ads", dataset="searches", budget=budget("5"))


def amount(loss: str) -> Amount:
    return Amount.charge(cost(loss, "1e-7"))


class TestPolicies:
    def test_one_question_may_cost_so_much(self, ledger, account):
        ledger.rule("searches", Policy.of(question=amount("0.1")))
        assert account.pay(charge("q", "0.1"), delivers()).release == b"a release"
        with pytest.raises(BudgetRefusedError, match="allows one question to cost at most ρ"):
            account.pay(charge("r", "0.11"), delivers())
        assert verify(ledger) == []

    def test_and_the_questions_of_a_day_by_their_ceilings_until_the_next(self, ledger, account, clock: Clock):
        ledger.rule("searches", Policy.of(day=amount("0.25")))
        for name in ("q", "r"):
            account.pay(charge(name, "0.1"), delivers(used=cost("0.01")))
        with pytest.raises(BudgetRefusedError, match=r"only ρ = 0.05 .* left on 2026-11-15. Ask again tomorrow"):
            account.pay(charge("s", "0.1"), delivers())
        # What was answered stays free.
        assert account.pay(charge("q", "0.1"), delivers()).release == b"a release"
        clock.move(days=1)
        assert account.pay(charge("s", "0.1"), delivers()).release == b"a release"
        assert verify(ledger) == []

    def test_kinds_and_bounds(self, ledger, account):
        ledger.rule("searches", Policy.of(kinds=("top",), least_items_per_user=5))
        with pytest.raises(InvalidArgumentError, match="one of: top"):
            account.pay(charge("q", kind="histogram"), delivers())
        with pytest.raises(InvalidArgumentError, match="5 or more"):
            account.pay(charge("q", kind="top", items_per_user=4), delivers())
        assert account.pay(charge("q", kind="top", items_per_user=5), delivers()).release == b"a release"
        ledger.rule("searches", None)
        assert account.pay(charge("r", kind="histogram"), delivers()).release == b"a release"
        assert verify(ledger) == []
        assert [one.kind for one in ledger.history()].count("ruled") == 2

    @pytest.mark.parametrize("wrong", [{"kinds": ("sum",)}, {"kinds": ()}, {"least_items_per_user": 0}])
    def test_rubbish_is_refused(self, wrong):
        with pytest.raises(InvalidArgumentError):
            Policy.of(**wrong)

    def test_a_total_that_protects_nobody_is_warned_of(self):
        assert protects_nobody(Amount.charge(cost("0.5", "1e-6"))) == ""
        assert "protects nobody" in protects_nobody(Amount.charge(cost("50", "1e-6")))
        assert "protects nobody" in protects_nobody(Amount.charge(cost("0.1", "0.05")))


class TestMoves:
    def test_a_source_that_moved_keeps_its_budget(self, ledger, account):
        account.pay(charge("q", source="postgresql://localhost/x#t"), delivers())
        moved = "postgresql://127.0.0.1/x#t"
        with pytest.raises(InvalidArgumentError, match="about"):
            account.pay(charge("r", source=moved), delivers())
        assert ledger.move("searches", moved) == "postgresql://localhost/x#t"
        account.pay(charge("r", source=moved), delivers())
        assert ledger.dataset("searches").used.texts[0] == "0.2"
        assert verify(ledger) == []

    def test_not_to_where_another_data_set_is(self, ledger, account):
        ledger.create_dataset("visits", budget=budget(), source="visits.parquet")
        with pytest.raises(InvalidArgumentError, match="no other data set"):
            ledger.move("searches", "visits.parquet")


def test_versions_that_a_data_set_was_at(ledger, account):
    ledger.declare_version("searches", "december")
    assert ledger.declared_versions("searches") == {"november", "december"}


def test_entries_say_which_key_asked_and_acted(ledger, account):
    replace(account, asked_by="3f0c9d5e0000").pay(charge("q"), delivers())
    ledger.on_behalf_of("admin0000000").close_account("ads")
    assert [one.body.get("by") for one in ledger.history()[-3:]] == ["3f0c9d5e0000", None, "admin0000000"]
    assert verify(ledger) == []


def _owned_by(ledger: Ledger, owner: str) -> None:
    with ledger.store.writing() as connection:
        connection.execute(questions.update().values(owner=owner))


def _left_open(ledger: Ledger, account, owner: str) -> None:
    """Leave a question open that another process holds."""

    def deliver():
        _owned_by(ledger, owner)
        ledger.running.end("searches", 3)
        raise SystemExit

    forfeited = heartbeat._GIVEN_UP.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unlisted.ledger.account.Account._forfeit", lambda *_: None)
        with pytest.raises(SystemExit):
            account.pay(charge("q"), deliver)
    heartbeat._GIVEN_UP.intersection_update(forfeited)


class TestHeartbeats:
    """A dead container blocked a question for a day, and a live one was forfeited: a machine's name is no name."""

    def test_a_container_with_the_same_host_name_is_not_taken_for_dead(self, ledger, account):
        now = heartbeat.time.time()
        other = f"2|another-boot/1|{os.getpid()}|1|ff|{now:.3f}|0"
        _left_open(ledger, account, other)
        assert ledger.forfeit_abandoned() == 0
        (found,) = ledger.open_reservations()
        assert not found.is_gone
        assert "elsewhere" in found.held_by

    def test_and_is_after_a_silence(self, ledger, account):
        silent = heartbeat.time.time() - heartbeat.LEASE_SECONDS - 60
        _left_open(ledger, account, f"2|another-boot/1|{os.getpid()}|1|ff|{silent:.3f}|0")
        assert ledger.forfeit_abandoned() == 1
        assert verify(ledger) == []

    def test_a_beat_is_a_sign_of_life(self, ledger, account):
        silent = heartbeat.time.time() - 3600
        running = heartbeat.Running(ledger.store)
        _left_open(ledger, account, f"2|another-boot/1|{os.getpid()}|1|{running._identity}|{silent:.3f}|0")
        running._beat()
        running._beat()
        assert ledger.forfeit_abandoned() == 0

    def test_a_process_here_that_lives_is_never_forfeited_however_silent(self, ledger, account):
        own = heartbeat._Owner(heartbeat.place(), os.getpid(), heartbeat._started(os.getpid()), "ff", 0.0)
        _left_open(ledger, account, f"{own}|0")
        assert ledger.forfeit_abandoned() == 0
        with pytest.raises(LedgerError, match="being answered right now"):
            account.pay(charge("q"), delivers())
        # The owner knows better.
        ledger.forfeit("searches", 3)
        assert ledger.open_reservations() == []
        assert ledger.dataset("searches").used.texts[0] == "0.1"
        assert verify(ledger) == []
        with pytest.raises(InvalidArgumentError, match="one that is open"):
            ledger.forfeit("searches", 3)

    def test_what_was_forfeited_by_the_owner_is_not_answered(self, ledger, account):
        def deliver():
            ledger.forfeit("searches", 3)
            return b"too late", cost("0.1")

        with pytest.raises(ChargedFailureError):
            account.pay(charge("q"), deliver)
        with ledger.store.reading() as connection:
            assert connection.execute(sa.select(questions.c.release)).scalars().all() == [None]

    def test_it_beats_while_a_question_runs(self, ledger, account, monkeypatch):
        monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
        beats = heartbeat.processes

        def deliver():
            from tests.ledger.books import eventually

            def is_heard() -> bool:
                with ledger.store.reading() as connection:
                    return connection.execute(sa.select(beats.c.beat)).first() is not None

            eventually(is_heard)
            return b"a release", cost("0.1")

        assert account.pay(charge("q"), deliver).release == b"a release"
