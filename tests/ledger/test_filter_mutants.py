"""A filter with a mistake in it must be found out, for either kind of account.

One history, in exact fractions beside the ledger: questions whose cost is no decimal, some that fail, some that
use a part of their ceiling, until nothing fits. `wrong` says what of a filter's theorem the history contradicts.
For the program it is nothing; for every mutant it is something.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from tests.ledger.books import charge, cost

import unlisted as ul
from unlisted.errors import BudgetRefusedError
from unlisted.ledger import amounts
from unlisted.ledger.amounts import PLACES, Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import State
from unlisted.noise.gaussian import accounting
from unlisted.noise.gaussian.accounting import ACCOUNTINGS, GAUSSIAN
from unlisted.privacy.accounting import ZCDP, Accounting

EPSILON, DELTA = Fraction(1), Fraction(2, 10**8)
KINDS = pytest.mark.parametrize("accounting", ACCOUNTINGS.values(), ids=str)


def wrong(accounting: Accounting, folder: Path) -> list[str]:
    """Ask until nothing fits, and return what is not as a filter must be."""
    found = []
    with Ledger(folder / "budget.db") as ledger:
        total = ul.Budget(epsilon=EPSILON, delta=DELTA)
        ledger.create_dataset("d", budget=total, kind=accounting.name, failures=1000)
        account = ledger.open("a", dataset="d", budget=total, failures=900)
        limit, spent = account.terms.total.exact[0], Fraction(0)
        ceiling = accounting.loss_down(EPSILON, DELTA / 2) / 7 / 3
        refused = False
        for number in range(60):
            used = (ceiling, ceiling / 3, Fraction(0))[number % 3]
            try:
                account.pay(charge(str(number), ceiling, "1e-20", accounting), _delivery(number, used, accounting))
                spent += used
            except ZeroDivisionError:
                spent += ceiling
            except BudgetRefusedError:
                refused = True
                break
        if spent > limit:
            found.append("more was answered than the total")
        if not refused or limit - spent > ceiling:
            found.append("a question that fits is refused, or none ever is")
        booked = account.balance().account.used.exact[0]
        if booked < spent:
            found.append("less is booked than was spent")
        if booked > spent + Fraction(60, 10**PLACES):
            found.append("more is booked than was spent")
    if converted(accounting, limit) > DELTA / 2:
        found.append("the total is not (ε, δ)-DP")
    if converted(accounting, limit * Fraction(1001, 1000)) < DELTA / 2:
        found.append("the total wastes part of (ε, δ)")
    return found


def _delivery(number: int, used: Fraction, accounting: Accounting) -> Callable[[], tuple[bytes, ul.Guarantee]]:
    def deliver() -> tuple[bytes, ul.Guarantee]:
        if number % 5 == 4:
            raise ZeroDivisionError
        return b"a release", cost(used, Fraction(1, 10**20), accounting)

    return deliver


def converted(accounting: Accounting, loss: Fraction) -> mpmath.mpf:
    """Return the δ of a loss at ε, by the textbook formulas and not by the program."""
    with mpmath.workdps(40):
        loss_, epsilon = mpmath.mpf(loss.numerator) / loss.denominator, mpmath.mpf(1)
        if accounting is GAUSSIAN:
            mu = mpmath.sqrt(loss_)
            tail = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2  # noqa: E731
            return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)

        def delta(y: mpmath.mpf) -> mpmath.mpf:
            a = 1 + mpmath.exp(y)
            return mpmath.exp((a - 1) * (a * loss_ - epsilon)) / (a - 1) * (1 - 1 / a) ** a

        low, high = mpmath.mpf(-5), mpmath.mpf(10)
        for _ in range(120):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (low, right) if delta(left) < delta(right) else (left, high)
        return delta(low)


@KINDS
def test_nothing_is_wrong(accounting: Accounting, tmp_path: Path) -> None:
    assert wrong(accounting, tmp_path) == []


Patch = pytest.MonkeyPatch


def _added_as_roots(patch: Patch) -> None:
    """Amounts are added as if they were μ and not μ²: √(a² + b²)."""
    patch.setattr(
        Amount,
        "__add__",
        lambda a, b: Amount(math.isqrt(a.loss**2 + b.loss**2), a.delta + b.delta, a.accounting),
    )


def _roots_added(patch: Patch) -> None:
    """μ is charged in the place of μ²."""
    patch.setattr(
        Amount,
        "charge",
        classmethod(
            lambda cls, one, kind: cls(
                math.ceil(math.sqrt(kind.charge(one)[0]) * 10**PLACES), math.ceil(one.delta * 10**PLACES), kind
            )
        ),
    )


def _failures_refunded(patch: Patch) -> None:
    """What failed after data was touched comes back."""
    ended = State._ended

    def refunded(state: State, entry: Entry) -> State:
        after = ended(state, entry)
        if entry.kind != "forfeited":
            return after
        account = after.accounts[entry.account]
        given_back = {**after.accounts, account.name: replace(account, used=account.used - entry.amount)}
        dataset = replace(after.dataset, used=after.dataset.used - entry.amount)
        return replace(after, accounts=given_back, dataset=dataset)

    patch.setattr(State, "_ended", refunded)


def _charges_rounded_down(patch: Patch) -> None:
    patch.setattr(amounts.math, "ceil", math.floor)


def _budgets_rounded_up(patch: Patch) -> None:
    """A total is the next thousandth above what converts."""
    for kind in ACCOUNTINGS.values():
        below = kind.loss_down
        patch.setattr(type(kind), "loss_down", lambda self, e, d, below=below: below(e, d) * Fraction(1001, 1000))


def _wrong_sign(patch: Patch) -> None:
    """Q(ε/μ + μ/2) - e^-ε·Q(ε/μ - μ/2): the conversion looks at the other law's side."""

    def delta(mu_squared: float) -> float:
        mu, epsilon = math.sqrt(mu_squared), float(EPSILON)
        tail = lambda x: math.erfc(x / math.sqrt(2)) / 2  # noqa: E731
        return tail(epsilon / mu + mu / 2) - math.exp(-epsilon) * tail(epsilon / mu + 3 * mu / 2)

    def loss_down(self: Accounting, epsilon: Fraction, wanted: Fraction) -> Fraction:
        low, high = 1e-9, 10.0
        for _ in range(100):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if delta(middle) <= wanted else (low, middle)
        return Fraction(low)

    patch.setattr(type(GAUSSIAN), "loss_down", loss_down)


def _by_rho(patch: Patch) -> None:
    """2ρ is taken for μ²: valid, and the tenth more is lost."""
    patch.setattr(accounting, "mu_squared_down", lambda e, d: 2 * ZCDP.loss_down(e, d))


BOTH = {
    "amounts added as roots": _added_as_roots,
    "roots of amounts charged": _roots_added,
    "failures refunded": _failures_refunded,
    "charges rounded down": _charges_rounded_down,
    "budgets rounded up": _budgets_rounded_up,
}
GAUSSIAN_ONLY = {"conversion with the wrong sign": _wrong_sign, "conversion by way of ρ": _by_rho}


MUTANTS = [
    *(pytest.param(kind, one, id=f"{kind}, {name}") for kind in (ZCDP, GAUSSIAN) for name, one in BOTH.items()),
    *(pytest.param(GAUSSIAN, one, id=name) for name, one in GAUSSIAN_ONLY.items()),
]


@pytest.mark.parametrize(("accounting", "mutate"), MUTANTS)
def test_a_mutant_is_caught(
    accounting: Accounting, mutate: Callable[[Patch], None], tmp_path: Path, monkeypatch: Patch
) -> None:
    mutate(monkeypatch)
    assert wrong(accounting, tmp_path) != []
