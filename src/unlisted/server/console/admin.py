"""For admins: open, thaw and close accounts, make and revoke keys, say which key asks what on whose account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from unlisted.errors import AccessError, InvalidArgumentError
from unlisted.ledger.declarations import shared_warning
from unlisted.privacy.guarantee import Budget
from unlisted.query.options import read_total
from unlisted.server.console.budget import standing_of
from unlisted.server.console.visits import TOKEN, Form, Sent, Signed, SignedIn
from unlisted.server.query_service import QueryService

router = APIRouter()

Searched = Annotated[str, Query(max_length=200)]
NoteName = Annotated[str, Query(max_length=200)]

MOST_SHOWN = 100
"""Accounts, and keys, on one page. With more, a search finds them."""


@router.get("/admin")
def show(visit: Signed, q: Searched = "", note: NoteName = "") -> Response:
    """Show accounts and keys: all, or those that a search finds."""
    visit.service.require_admin(visit.caller)
    # A new key is said once: the note is gone when the page is loaded again.
    said = visit.console.notes.take(visit.caller.key, note) if note else None
    return _page(visit, q.strip(), said or {})


@router.post("/admin/{verb}")
def change(visit: Signed, verb: str, sent: Sent) -> Response:
    """Do one of the things that an admin may do, and go to the page that shows what is so now."""
    visit.service.require_admin(visit.caller)
    if verb not in VERBS:
        raise AccessError(404, "There is no such page.")
    try:
        said: dict[str, Any] = dict(VERBS[verb](visit.service.on_behalf_of(visit.caller), sent))
        visit.service.forget()
    except InvalidArgumentError as refused:
        # What was filled in comes back with what is wrong with it.
        fields = {name: value for name, value in sent.fields if name != TOKEN}
        said = {"refused": str(refused), "verb": verb, "fields": fields}
    return visit.go("admin", note=visit.console.notes.keep(visit.caller.key, said))


def _open_account(service: QueryService, sent: Form) -> dict[str, str]:
    # A ledger would open an unknown data set along with the account.
    dataset, account = _offered(service, sent), _given(sent, "account")
    counted = service.ledger.dataset(dataset).accounting.option
    budget, period = _budget(sent, counted, ""), sent.one("period") or None
    # An allowance without its period is refused where both are read.
    is_allowed = period is not None or any(sent.one(f"period_{name}") for name in ("epsilon", "loss", "delta"))
    allowance = _budget(sent, counted, "period_") if is_allowed else None
    failures = _number(sent, "failures") if sent.one("failures") else None
    service.ledger.open(
        account, dataset=dataset, budget=budget, period=period, period_budget=allowance, failures=failures
    )
    return {"done": f"The account {account} is open on {dataset}."}


def _budget(sent: Form, counted: str, prefix: str) -> Budget:
    """Read a budget in ε, or in what the data set counts, from the fields that begin with a prefix."""
    delta = _given(sent, f"{prefix}delta")
    said = {"epsilon": sent.one(f"{prefix}epsilon"), counted: sent.one(f"{prefix}loss"), "delta": delta}
    return read_total({name: text for name, text in said.items() if text})


def _close_account(service: QueryService, sent: Form) -> dict[str, str]:
    account = _given(sent, "account")
    service.ledger.close_account(account)
    return {"done": f"The account {account} is closed. What it spent stays spent."}


def _thaw_account(service: QueryService, sent: Form) -> dict[str, str]:
    account = _given(sent, "account")
    seen = service.ledger.thaw(account=account)
    return {"done": f"The account {account} is thawed. {seen:,} failures were counted; the count starts anew."}


def _thaw_dataset(service: QueryService, sent: Form) -> dict[str, str]:
    dataset = _offered(service, sent)
    seen = service.ledger.thaw(dataset=dataset)
    return {"done": f"The data set {dataset} is thawed. {seen:,} failures were counted; the count starts anew."}


def _allow_account(service: QueryService, sent: Form) -> dict[str, str]:
    account, failures = _given(sent, "account"), _number(sent, "failures")
    service.ledger.allow_failures(failures, account=account)
    return {"done": f"Of the account {account}, {failures:,} questions may fail."}


def _allow_dataset(service: QueryService, sent: Form) -> dict[str, str]:
    dataset, failures = _offered(service, sent), _number(sent, "failures")
    service.ledger.allow_failures(failures, dataset=dataset)
    return {"done": f"Of all accounts on {dataset} together, {failures:,} questions may fail."}


def _create_key(service: QueryService, sent: Form) -> dict[str, str]:
    account = sent.one("account")
    granted = {service.ledger.account(account).dataset: account} if account else {}
    key = service.keys.create(_given(sent, "name"), _given(sent, "role"), granted)
    return {"new_key": key, "done": f"The key {sent.one('name')} is made."}


def _revoke_key(service: QueryService, sent: Form) -> dict[str, str]:
    service.keys.revoke(_given(sent, "key"))
    return {"done": f"The key {sent.one('key')} is revoked, for ever."}


def _grant(service: QueryService, sent: Form) -> dict[str, str]:
    key, account = _given(sent, "key"), _given(sent, "account")
    dataset = service.ledger.account(account).dataset
    service.keys.grant(key, dataset, account)
    return {"done": f"The key {key} may ask {dataset}; the account {account} pays."}


def _withdraw(service: QueryService, sent: Form) -> dict[str, str]:
    key, dataset = _given(sent, "key"), _given(sent, "dataset")
    service.keys.withdraw(key, dataset)
    return {"done": f"The key {key} may not ask {dataset} any more."}


VERBS: dict[str, Callable[[QueryService, Form], dict[str, str]]] = {
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


def _offered(service: QueryService, sent: Form) -> str:
    dataset = _given(sent, "dataset")
    if dataset not in service.config.datasets:
        raise InvalidArgumentError("dataset", dataset, "one that is offered here")
    return dataset


def _number(sent: Form, name: str) -> int:
    text = _given(sent, name)
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidArgumentError(name, text, "a whole number")
    return int(text)


def _page(visit: SignedIn, searched: str, said: Mapping[str, Any]) -> Response:
    service, caller = visit.service, visit.caller
    names = sorted(service.config.datasets)
    accounts = [(name, standing_of(one)) for name in names for one in service.balances(caller, name)]
    # Those that are of use come first, and of keys the newest.
    accounts.sort(key=lambda one: one[1].closed)
    keys = sorted(service.keys.all(), key=lambda one: one.created, reverse=True)
    keys.sort(key=lambda one: one.revoked is not None)
    found_accounts = [one for one in accounts if _has(searched, one[0], one[1].account)]
    found_keys = [
        one
        for one in keys
        if _has(searched, one.caller.name, one.caller.key, one.caller.role, *one.caller.grants.values())
    ]
    given: dict[str, Any] = {
        "current": "Budget",
        "datasets": names,
        "accounts": found_accounts[:MOST_SHOWN],
        "accounts_found": len(found_accounts),
        "open_accounts": [one for one in accounts if not one[1].closed],
        "failures": {name: service.ledger.dataset(name).failures for name in names},
        "shared": [shared_warning(one, others) for one, others in service.shared_sources()],
        "keys": found_keys[:MOST_SHOWN],
        "keys_found": len(found_keys),
        "live_keys": [one for one in keys if one.revoked is None],
        "searched": searched,
        "said": {"done": "", "refused": "", "new_key": "", "verb": "", "fields": {}, **said},
    }
    return visit.page("admin.html", given)


def _has(searched: str, *texts: str) -> bool:
    """Return whether one of some texts has what was searched for in it, in large letters or small."""
    return any(searched.casefold() in text.casefold() for text in texts)
