"""For admins: open, thaw and close accounts, make and revoke keys, say which key asks what on whose account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from unlisted.errors import AccessError, InvalidArgumentError
from unlisted.ledger.declarations import shared_warning
from unlisted.privacy.guarantee import Budget
from unlisted.server.console.budget_figures import standing_of
from unlisted.server.console.forms import Form
from unlisted.server.console.visits import Sent, Signed, SignedIn
from unlisted.server.desk import Desk

router = APIRouter()


@router.get("/admin")
def show(visit: Signed) -> Response:
    """Show all accounts and keys."""
    visit.desk.require_admin(visit.caller)
    return _page(visit, {})


@router.post("/admin/{verb}")
def change(visit: Signed, verb: str, sent: Sent) -> Response:
    """Do one of the things that an admin may do, and show what is so now."""
    visit.desk.require_admin(visit.caller)
    if verb not in VERBS:
        raise AccessError(404, "There is no such page.")
    try:
        said = VERBS[verb](visit.desk, sent)
    except InvalidArgumentError as refused:
        return _page(visit, {"refused": str(refused)}, 422)
    visit.desk.forget_callers()
    return _page(visit, said)


def _open_account(desk: Desk, sent: Form) -> dict[str, str]:
    # A ledger would open an unknown data set along with the account.
    dataset, account = _offered(desk, sent), _given(sent, "account")
    budget = Budget(rho=_given(sent, "rho"), delta=_given(sent, "delta"))
    failures = _number(sent, "failures") if sent.one("failures") else None
    desk.ledger.open(account, dataset=dataset, budget=budget, failures=failures)
    return {"done": f"The account {account} is open on {dataset}."}


def _close_account(desk: Desk, sent: Form) -> dict[str, str]:
    account = _given(sent, "account")
    desk.ledger.close_account(account)
    return {"done": f"The account {account} is closed. What it spent stays spent."}


def _thaw_account(desk: Desk, sent: Form) -> dict[str, str]:
    account = _given(sent, "account")
    seen = desk.ledger.thaw(account=account)
    return {"done": f"The account {account} is thawed. {seen:,} failures were counted; the count starts anew."}


def _thaw_dataset(desk: Desk, sent: Form) -> dict[str, str]:
    dataset = _offered(desk, sent)
    seen = desk.ledger.thaw(dataset=dataset)
    return {"done": f"The data set {dataset} is thawed. {seen:,} failures were counted; the count starts anew."}


def _allow_account(desk: Desk, sent: Form) -> dict[str, str]:
    account, failures = _given(sent, "account"), _number(sent, "failures")
    desk.ledger.allow_failures(failures, account=account)
    return {"done": f"Of the account {account}, {failures:,} questions may fail."}


def _allow_dataset(desk: Desk, sent: Form) -> dict[str, str]:
    dataset, failures = _offered(desk, sent), _number(sent, "failures")
    desk.ledger.allow_failures(failures, dataset=dataset)
    return {"done": f"Of all accounts on {dataset} together, {failures:,} questions may fail."}


def _create_key(desk: Desk, sent: Form) -> dict[str, str]:
    account = sent.one("account")
    granted = {desk.ledger.account(account).dataset: account} if account else {}
    key = desk.keys.create(_given(sent, "name"), _given(sent, "role"), granted)
    return {"new_key": key, "done": f"The key {sent.one('name')} is made."}


def _revoke_key(desk: Desk, sent: Form) -> dict[str, str]:
    desk.keys.revoke(_given(sent, "key"))
    return {"done": f"The key {sent.one('key')} is revoked, for ever."}


def _grant(desk: Desk, sent: Form) -> dict[str, str]:
    key, account = _given(sent, "key"), _given(sent, "account")
    dataset = desk.ledger.account(account).dataset
    desk.keys.grant(key, dataset, account)
    return {"done": f"The key {key} may ask {dataset}; the account {account} pays."}


def _withdraw(desk: Desk, sent: Form) -> dict[str, str]:
    key, dataset = _given(sent, "key"), _given(sent, "dataset")
    desk.keys.withdraw(key, dataset)
    return {"done": f"The key {key} may not ask {dataset} any more."}


VERBS: dict[str, Callable[[Desk, Form], dict[str, str]]] = {
    "open-account": _open_account,
    "close-account": _close_account,
    "thaw-account": _thaw_account,
    "thaw-dataset": _thaw_dataset,
    "allow-account": _allow_account,
    "allow-dataset": _allow_dataset,
    "create-key": _create_key,
    "revoke-key": _revoke_key,
    "grant": _grant,
    "withdraw": _withdraw,
}
"""What an admin may do: each reads its form, does it, and says what is so now."""


def _given(sent: Form, name: str) -> str:
    if not sent.one(name):
        raise InvalidArgumentError(name, "nothing", "given")
    return sent.one(name)


def _offered(desk: Desk, sent: Form) -> str:
    dataset = _given(sent, "dataset")
    if dataset not in desk.config.datasets:
        raise InvalidArgumentError("dataset", dataset, "one that is offered here")
    return dataset


def _number(sent: Form, name: str) -> int:
    text = _given(sent, name)
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidArgumentError(name, text, "a whole number")
    return int(text)


def _page(visit: SignedIn, said: dict[str, str], status: int = 200) -> Response:
    desk, caller = visit.desk, visit.caller
    names = sorted(desk.config.datasets)
    accounts = [(name, standing_of(one)) for name in names for one in desk.balances(caller, name)]
    given: dict[str, Any] = {
        "current": "Budget",
        "datasets": names,
        "accounts": accounts,
        "failures": {name: desk.ledger.dataset(name).failures for name in names},
        "shared": [shared_warning(one, others) for one, others in desk.shared_sources()],
        "keys": desk.keys.all(),
        "said": {"done": "", "refused": "", "new_key": "", **said},
    }
    return visit.page("admin.html", given, status)
