"""Random histories: whatever is asked, in whatever order, the book agrees with a model of a few lines.

The model adds fractions in dictionaries and knows nothing of stores, chains or caches. Each question runs in a
thread of its own, so that many are open at once and end in any order. At the end the same history is written once
more into another ledger, and the two exports must be equal.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from queue import Queue
from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from tests.ledger.books import Clock, budget, charge, cost

from unlisted.errors import BudgetRefusedError, ChargedFailureError, InvalidArgumentError, LedgerError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.leases import forfeit
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.noise.gaussian.accounting import GAUSSIAN
from unlisted.privacy.accounting import ZCDP, Accounting

PATIENCE_SECONDS = 600
# A folder in memory where there is one: how long a commit takes is not what is tested here.
MEMORY = Path("/dev/shm")
DATASETS, ACCOUNTS = ("searches", "orders"), ("ads", "ops", "risk")

Pair = tuple[Fraction, Fraction]


class MechanismError(Exception):
    """What a question dies of."""


def rho(thousandths: int) -> Fraction:
    return Fraction(thousandths, 1000)


def delta(billionths: int) -> Fraction:
    return Fraction(billionths, 10**9)


@dataclass
class World:
    """A ledger, its clock, and the questions that are being answered in it."""

    folder: Path
    accounting: Accounting
    clock: Clock = field(default_factory=Clock)
    running: dict[int, Running] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.folder / "budget.db", clock=self.clock)

    def create(self, dataset: str, total: Pair, version: str | None) -> str:
        declared = {"kind": self.accounting.name, "version": version, "failures": 4}
        self.ledger.create_dataset(dataset, budget=budget(*total, self.accounting), **declared)
        return "done"

    def open(self, account: str, dataset: str, share: Pair, daily: Pair | None, failures: int) -> str:
        each = None if daily is None else budget(*daily, self.accounting)
        period = None if daily is None else "day"
        terms = {
            "budget": budget(*share, self.accounting),
            "period": period,
            "period_budget": each,
            "failures": failures,
        }
        self.ledger.open(account, dataset=dataset, **terms)
        return "done"

    def thaw(self, **whom: str) -> str:
        try:
            return f"thawed {self.ledger.thaw(**whom)}"
        except InvalidArgumentError as refusal:
            return type(refusal).__name__

    def thaw_account(self, account: str) -> str:
        return self.thaw(account=account)

    def thaw_dataset(self, dataset: str) -> str:
        return self.thaw(dataset=dataset)

    def allow(self, account: str, failures: int) -> str:
        self.ledger.allow_failures(failures, account=account)
        return "done"

    def declare(self, dataset: str, version: str) -> str:
        self.ledger.declare_version(dataset, version)
        return "done"

    def close(self, account: str) -> str:
        self.ledger.close_account(account)
        return "done"

    def move(self, hours: int) -> str:
        self.clock.move(hours=hours)
        return "done"

    def ask(self, number: int, account: str, question: str, ceiling: Pair, key: str | None) -> str:
        asked = Running(self.ledger, account, question, ceiling, key)
        outcome = asked.begin()
        if outcome == "open":
            self.running[number] = asked
        return outcome

    def answer(self, number: int, used: Pair) -> str:
        return self.running.pop(number).end((f"answer {number}".encode(), cost(*used, self.accounting)))

    def fail(self, number: int) -> str:
        return self.running.pop(number).end(None)

    def abandon(self, number: int) -> str:
        """Do to an open question what `verify` does to those of dead processes."""
        asked = self.running[number]
        with self.ledger.changing(asked.dataset, asked.account) as change:
            forfeit(change, asked.reservation)
        return "done"

    def end(self) -> None:
        for number in list(self.running):
            self.fail(number)
        self.ledger.close()


class Running:
    """A question in a thread of its own, which stops between its reservation and its answer."""

    def __init__(self, ledger: Ledger, account: str, question: str, ceiling: Pair, key: str | None) -> None:
        self.ledger, self.account = ledger, account
        self.dataset = ledger.account(account).dataset
        self.reservation = 0
        accounting = ledger.account(account).accounting
        self._charge = charge(question, *ceiling, accounting, source=f"{self.dataset}.parquet")
        self._key = key
        self._said: Queue[str] = Queue()
        self._order: Queue[tuple[bytes, Any] | None] = Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> str:
        self._thread.start()
        outcome = self._said.get(timeout=PATIENCE_SECONDS)
        if outcome == "open":
            self.reservation = self.ledger.dataset(self.dataset).last_number
        return outcome

    def end(self, order: tuple[bytes, Any] | None) -> str:
        self._order.put(order)
        outcome = self._said.get(timeout=PATIENCE_SECONDS)
        self._thread.join(PATIENCE_SECONDS)
        return outcome

    def _run(self) -> None:
        try:
            paid = self.ledger.account(self.account).pay(self._charge, self._deliver, self._key)
        except (
            BudgetRefusedError,
            ChargedFailureError,
            InvalidArgumentError,
            LedgerError,
            MechanismError,
        ) as refusal:
            self._said.put(type(refusal).__name__)
        else:
            self._said.put(paid.release.decode())

    def _deliver(self) -> tuple[bytes, Any]:
        self._said.put("open")
        order = self._order.get(timeout=PATIENCE_SECONDS)
        if order is None:
            raise MechanismError
        return order


@dataclass
class Asked:
    """A question in the model: `state` is open, abandoned, failed, or the answer."""

    account: str
    question: str
    version: str | None
    key: str | None
    ceiling: Pair
    day: str
    state: str = "open"


@dataclass
class Model:
    """What is spent, as plain sums."""

    totals: dict[str, Pair] = field(default_factory=dict)
    shares: dict[str, Pair] = field(default_factory=dict)
    daily: dict[str, Pair | None] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str | None] = field(default_factory=dict)
    latest: dict[str, datetime] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    asked: dict[int, Asked] = field(default_factory=dict)
    allowed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DATASETS, 4))
    failed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    gone: dict[Any, Pair] = field(default_factory=lambda: defaultdict(lambda: (Fraction(0), Fraction(0))))

    def take(self, keys: tuple[Any, ...], amount: Pair, sign: int = 1) -> None:
        for key in keys:
            self.gone[key] = (self.gone[key][0] + sign * amount[0], self.gone[key][1] + sign * amount[1])

    def left(self, account: str, now: datetime) -> Pair:
        dataset, daily = self.of[account], self.daily[account]
        limits = [(self.totals[dataset], dataset), (self.shares[account], account)]
        if daily is not None:
            limits.append((daily, (account, str(max(now, self.latest[dataset]).date()))))
        return tuple(min(limit[at] - self.gone[key][at] for limit, key in limits) for at in (0, 1))

    def is_frozen(self, account: str) -> bool:
        return any(self.failed[one] >= self.allowed[one] for one in (account, self.of[account]))

    def fail(self, account: str) -> None:
        """Count a failure, of which none is told while all is frozen."""
        if not self.is_frozen(account):
            self.failed[account] += 1
            self.failed[self.of[account]] += 1

    def expected(self, account: str, question: str, ceiling: Pair, key: str | None, now: datetime) -> str:
        """Say what asking will come to."""
        version = self.versions[self.of[account]]
        mine = [one for one in self.asked.values() if one.account == account]
        for one in mine:
            if key is not None and one.key == key:
                if one.question != question:
                    return "InvalidArgumentError"
                kept = {"open": "LedgerError", "abandoned": "ChargedFailureError", "failed": "ChargedFailureError"}
                return kept.get(one.state, one.state)
        for one in mine:
            if version is not None and (one.question, one.version) == (question, version):
                if one.state == "open":
                    return "LedgerError"
                if one.state not in ("abandoned", "failed"):
                    return one.state
        left = self.left(account, now)
        fits = ceiling[0] <= left[0] and ceiling[1] <= left[1]
        if account in self.closed:
            return "BudgetRefusedError"
        if self.is_frozen(account):
            return "FrozenError"
        return "open" if fits else "BudgetRefusedError"


def pairs(most: int) -> st.SearchStrategy[Pair]:
    return st.tuples(st.integers(1, most).map(rho), st.integers(1, most).map(delta))


class Histories(RuleBasedStateMachine):
    """Everything that can happen to a ledger, in any order."""

    accounting: ClassVar[Accounting] = ZCDP
    opened = Bundle("opened")
    waiting = Bundle("waiting")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.world = self._new_world("first")
        self.model = Model()
        self.log: list[tuple[str, tuple[Any, ...], str]] = []

    def _new_world(self, name: str) -> World:
        (self.folder / name).mkdir()
        return World(self.folder / name, self.accounting)

    def do(self, what: str, *how: Any) -> str:
        outcome: str = getattr(self.world, what)(*how)
        self.log.append((what, how, outcome))
        return outcome

    def _entry(self, dataset: str) -> None:
        now = self.world.clock.time
        self.model.latest[dataset] = max(now, self.model.latest.get(dataset, now))

    @initialize(total=pairs(40), other=pairs(40), version=st.sampled_from([None, "v1"]))
    def begin(self, total: Pair, other: Pair, version: str | None) -> None:
        for name, amount in zip(DATASETS, (total, other), strict=True):
            self.do("create", name, amount, version)
            self.model.totals[name], self.model.versions[name] = amount, version
            self._entry(name)

    @rule(
        target=opened,
        name=st.sampled_from(ACCOUNTS),
        dataset=st.sampled_from(DATASETS),
        share=pairs(40),
        daily=st.none() | pairs(20),
        failures=st.integers(1, 3),
    )
    def open_account(self, name: str, dataset: str, share: Pair, daily: Pair | None, failures: int) -> Any:
        if name in self.model.of:
            return multiple()
        self.do("open", name, dataset, share, daily, failures)
        self.model.allowed[name] = failures
        self.model.of[name], self.model.shares[name], self.model.daily[name] = dataset, share, daily
        self._entry(dataset)
        return name

    @rule(
        target=waiting,
        account=opened,
        question=st.sampled_from(["q1", "q2", "q3"]),
        ceiling=pairs(16),
        key=st.none() | st.sampled_from(["k1", "k2"]),
    )
    def ask(self, account: str, question: str, ceiling: Pair, key: str | None) -> Any:
        now, number = self.world.clock.time, len(self.log)
        expected = self.model.expected(account, question, ceiling, key, now)
        assert self.do("ask", number, account, question, ceiling, key) == expected
        if expected != "open":
            return multiple()
        dataset = self.model.of[account]
        self._entry(dataset)
        day = str(self.model.latest[dataset].date())
        self.model.take((dataset, account, (account, day)), ceiling)
        version = self.model.versions[dataset]
        self.model.asked[number] = Asked(account, question, version, key, ceiling, day)
        return number

    @rule(number=consumes(waiting), share=st.fractions(0, 1, max_denominator=7))
    def answer(self, number: int, share: Fraction) -> None:
        asked = self.model.asked[number]
        part = cost(share * asked.ceiling[0], share * asked.ceiling[1], self.accounting)
        used = Amount.charge(part, self.accounting).exact
        outcome = self.do("answer", number, used)
        if asked.state == "abandoned":
            assert outcome == "ChargedFailureError"
            return
        if self.model.is_frozen(asked.account):
            # It was answered, and that is not told: how it ends was decided when others failed.
            assert outcome == "ChargedFailureError"
            self._entry(self.model.of[asked.account])
            asked.state = "failed"
            return
        assert outcome == f"answer {number}"
        dataset = self.model.of[asked.account]
        back = (asked.ceiling[0] - used[0], asked.ceiling[1] - used[1])
        self.model.take((dataset, asked.account, (asked.account, asked.day)), back, -1)
        self._entry(dataset)
        asked.state = outcome

    @rule(number=consumes(waiting))
    def fail(self, number: int) -> None:
        asked = self.model.asked[number]
        assert self.do("fail", number) == "MechanismError"
        if asked.state == "open":
            self._entry(self.model.of[asked.account])
            self.model.fail(asked.account)
            asked.state = "failed"

    @rule(number=waiting)
    def abandon(self, number: int) -> None:
        asked = self.model.asked[number]
        self.do("abandon", number)
        if asked.state == "open":
            self._entry(self.model.of[asked.account])
            self.model.fail(asked.account)
            asked.state = "abandoned"

    @rule(account=opened)
    def thaw_account(self, account: str) -> None:
        self._thaw("thaw_account", account, self.model.of[account])

    @rule(dataset=st.sampled_from(DATASETS))
    def thaw_dataset(self, dataset: str) -> None:
        self._thaw("thaw_dataset", dataset, dataset)

    def _thaw(self, verb: str, whom: str, dataset: str) -> None:
        failed = self.model.failed[whom]
        assert self.do(verb, whom) == (f"thawed {failed}" if failed else "InvalidArgumentError")
        if failed:
            self._entry(dataset)
            self.model.failed[whom] = 0

    @rule(account=opened, failures=st.integers(1, 3))
    def allow(self, account: str, failures: int) -> None:
        self.do("allow", account, failures)
        self.model.allowed[account] = failures
        self._entry(self.model.of[account])

    @rule(dataset=st.sampled_from(DATASETS), version=st.sampled_from(["v1", "v2"]))
    def declare(self, dataset: str, version: str) -> None:
        self.do("declare", dataset, version)
        self.model.versions[dataset] = version
        self._entry(dataset)

    @rule(account=opened)
    def close(self, account: str) -> None:
        if account in self.model.closed:
            return
        self.do("close", account)
        self.model.closed.add(account)
        self._entry(self.model.of[account])

    @rule(hours=st.integers(-30, 30))
    def move_the_clock(self, hours: int) -> None:
        self.do("move", hours)

    @invariant()
    def nothing_is_overspent_or_stranded(self) -> None:
        for account in self.model.of:
            left = self.world.ledger.account(account).balance().left
            assert Amount.allowance(*self.model.left(account, self.world.clock.time), self.accounting) == left
            assert min(left.loss, left.delta) >= 0

    @invariant()
    def failures_are_counted_and_no_more_than_are_allowed(self) -> None:
        book = self.world.ledger
        states = {one.name: one.failures for one in book.datasets()}
        states |= {one.name: one.failures for _, one in book.accounts()}
        assert {name: (one.allowed, one.seen) for name, one in states.items()} == {
            name: (self.model.allowed[name], self.model.failed[name]) for name in states
        }

    @invariant()
    def the_book_adds_up(self) -> None:
        assert verify(self.world.ledger) == []

    def teardown(self) -> None:
        again = self._new_world("again")
        try:
            outcomes = [getattr(again, what)(*how) for what, how, _ in self.log]
            assert outcomes == [outcome for _, _, outcome in self.log]
            assert list(again.ledger.export_lines()) == list(self.world.ledger.export_lines())
        finally:
            again.end()
            self.world.end()
            shutil.rmtree(self.folder, ignore_errors=True)


class GaussianHistories(Histories):
    """The same where μ² adds up."""

    accounting = GAUSSIAN


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestGaussianHistories = GaussianHistories.TestCase
TestGaussianHistories.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
