"""API v1 for admins: data sets with their policies, accounts and keys. The ledger says which key changed what.

To open a data set, to move it or to book a loss takes the ledger itself, and a shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Body, Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr
from starlette.responses import Response

from unlisted.errors import AccessError, InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.display import balance_as_dict, dataset_as_dict
from unlisted.ledger.policy import ASKED, Policy
from unlisted.ledger.state import DatasetState
from unlisted.ledger.terms import amount_of
from unlisted.privacy.guarantee import Budget
from unlisted.query.options import read_total
from unlisted.server.api.dependencies import AdminFirst, Name, Who, problems_of, router_for, service_of
from unlisted.server.api.schemas import AmountBody, BalanceBody, FailuresBody, Positive, json_response
from unlisted.server.auth import KeyRecord, key_id
from unlisted.server.query_service import QueryService

Text = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Account = Annotated[str, Path(max_length=200, description="The account's name.", examples=["ads-team"])]
KeyId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The key's id.", examples=["0123456789ab"])]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid")

    def budget(self) -> Budget:
        """Read the amounts that were said."""
        names = ("epsilon", "rho", "mu_squared", "delta")
        return read_total({name: getattr(self, name) for name in names if hasattr(self, name)})


class LimitBody(_Told):
    """An ε and a δ; they become the largest ρ or μ², and δ, that keep them."""

    epsilon: Positive = Field(description="The highest ε.")
    delta: Positive = Field(description="The highest δ.")


class PolicyBody(_Told):
    """What may be asked; what is left out is not limited."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"question": {"epsilon": "0.5", "delta": 1e-8}, "kinds": ["top"]}},
    )

    question: LimitBody | None = Field(
        None, description="The most that one question may cost: `epsilon`, `delta`."
    )
    day: LimitBody | None = Field(None, description="The most that all questions of one day (UTC) may cost.")
    kinds: list[Literal[ASKED]] | None = Field(  # type: ignore[valid-type]
        None, min_length=1, max_length=len(ASKED), description=f"The only kinds, of: {', '.join(ASKED)}."
    )
    least_items_per_user: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = Field(
        None, description="The lowest bound on a user's items."
    )


class AllowanceBody(_Told):
    """A budget in ε, or in what the data set counts."""

    epsilon: Positive | None = Field(None, description="The ε, or in its place `rho` or `mu_squared`.")
    rho: Positive | None = Field(None, description="The ρ, where the data set counts that.")
    mu_squared: Positive | None = Field(None, description="The μ², where the data set counts that.")
    delta: Positive = Field(description="The δ, which all questions share.")


class NewAccountBody(AllowanceBody):
    """An account to open."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"account": "ops", "dataset": "searches", "epsilon": 1, "delta": 1e-6}},
    )

    account: Text = Field(description="Its name.")
    dataset: Text = Field(description="The data set that it spends on.")
    period: Literal["day", "week", "month", "year"] | None = Field(
        None, description="When an allowance starts anew."
    )
    period_budget: AllowanceBody | None = Field(None, description="That allowance: an amount and a `delta`.")
    failures: Annotated[StrictInt, Field(ge=1, le=10**9)] | None = Field(
        None, description="How many of its questions may fail after data was touched."
    )


class FailuresAllowedBody(_Told):
    """How many questions may fail after data was touched."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"failures": 5}})

    failures: Annotated[StrictInt, Field(ge=1, le=10**9)] = Field(description="So many.")


class DaysBody(_Told):
    """How long a key is to live."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"days": 90}})

    days: Annotated[StrictInt, Field(ge=1, le=36_500)] | None = Field(
        None, description="It is refused after so many days."
    )


class NewKeyBody(DaysBody):
    """A key to make."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"name": "Ana", "grants": {"searches": "ops"}, "days": 90}}
    )

    name: Text = Field(description="Whose it is.")
    role: Literal["analyst", "admin"] = Field("analyst", description="`analyst`, or `admin`.")
    grants: dict[Text, Text] = Field(default_factory=dict, description="Data sets, and the accounts that pay.")


class GrantBody(_Told):
    """Who pays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"account": "ops"}})

    account: Text = Field(description="The account that pays.")


class OwnedDatasetBody(BaseModel):
    """A data set as its owner sees it. Amounts of a policy are exact, in what the data set counts."""

    dataset: str
    user: str | None
    adjacency: str | None
    version: str | None
    kind: str
    policy: dict[str, Any] | None
    total: AmountBody
    spent: AmountBody
    reserved: AmountBody
    left: AmountBody
    failures: FailuresBody


class KeyBody(BaseModel):
    """A key, without its secret."""

    id: str
    name: str
    role: str
    grants: dict[str, str]
    created: str
    revoked: str | None
    expires: str | None
    last_used: str | None


class SecretBody(BaseModel):
    """A key with its secret, which is shown this once."""

    id: str
    key: str


_BODY = problems_of(400)

admin_router = router_for("/v1/admin", "admin", AdminFirst)
admin_router.responses |= problems_of(403)


def _acting(request: Request, caller: Who) -> QueryService:
    return service_of(request).on_behalf_of(caller)


Acting = Annotated[QueryService, Depends(_acting)]


@admin_router.get("/datasets", response_model=list[OwnedDatasetBody])
def datasets(service: Acting) -> Response:
    """List the data sets that are offered here: totals, what is spent, versions, policies."""
    return json_response([_dataset(service, name) for name in sorted(service.config.datasets)])


@admin_router.put("/datasets/{name}/policy", response_model=OwnedDatasetBody, responses=_BODY)
def rule(service: Acting, name: Name, told: Annotated[PolicyBody, Body()]) -> Response:
    """Say what may be asked of a data set from now on, in place of what was said before."""
    state = _offered(service, name)
    policy = Policy.of(
        question=_limit(told.question, state),
        day=_limit(told.day, state),
        kinds=None if told.kinds is None else tuple(told.kinds),
        least_items_per_user=told.least_items_per_user,
    )
    if policy is None:
        raise InvalidArgumentError("policy", "nothing", "at least one limit", "To lift all, DELETE it.")
    service.ledger.rule(name, policy)
    return _done(service, _dataset(service, name))


@admin_router.delete("/datasets/{name}/policy", response_model=OwnedDatasetBody)
def lift(service: Acting, name: Name) -> Response:
    """Lift the policy of a data set. The totals hold all the same."""
    _offered(service, name)
    service.ledger.rule(name, None)
    return _done(service, _dataset(service, name))


@admin_router.put("/datasets/{name}/failures", response_model=OwnedDatasetBody, responses=_BODY)
def allow_dataset(service: Acting, name: Name, told: Annotated[FailuresAllowedBody, Body()]) -> Response:
    """Say how many questions of all accounts together may fail. What failed before still counts."""
    _offered(service, name)
    service.ledger.allow_failures(told.failures, dataset=name)
    return _done(service, _dataset(service, name))


@admin_router.post("/datasets/{name}/thaw", response_model=OwnedDatasetBody)
def thaw_dataset(service: Acting, name: Name) -> Response:
    """Let a frozen data set be asked again, after you have looked into the log. Its count starts anew."""
    _offered(service, name)
    service.ledger.thaw(dataset=name)
    return _done(service, _dataset(service, name))


@admin_router.get("/accounts", response_model=list[BalanceBody])
def accounts(service: Acting, caller: Who) -> Response:
    """List all accounts, and where they stand."""
    names = sorted(service.config.datasets)
    return json_response([balance_as_dict(one) for name in names for one in service.balances(caller, name)])


@admin_router.post("/accounts", response_model=BalanceBody, responses=_BODY)
def open_account(service: Acting, told: Annotated[NewAccountBody, Body()]) -> Response:
    """Open an account. One that is open with equal terms stays as it is."""
    # A ledger would open an unknown data set along with it.
    _offered(service, told.dataset)
    service.ledger.open(
        told.account,
        dataset=told.dataset,
        budget=told.budget(),
        period=told.period,
        period_budget=None if told.period_budget is None else told.period_budget.budget(),
        failures=told.failures,
    )
    return _done(service, _balance(service, told.account))


@admin_router.delete("/accounts/{account}", response_model=BalanceBody)
def close_account(service: Acting, account: Account) -> Response:
    """Close an account. What it spent stays spent."""
    _balance(service, account)
    service.ledger.close_account(account)
    return _done(service, _balance(service, account))


@admin_router.put("/accounts/{account}/failures", response_model=BalanceBody, responses=_BODY)
def allow_account(service: Acting, account: Account, told: Annotated[FailuresAllowedBody, Body()]) -> Response:
    """Say how many questions of an account may fail. What failed before still counts."""
    _balance(service, account)
    service.ledger.allow_failures(told.failures, account=account)
    return _done(service, _balance(service, account))


@admin_router.post("/accounts/{account}/thaw", response_model=BalanceBody)
def thaw_account(service: Acting, account: Account) -> Response:
    """Let a frozen account ask again, after you have looked into the log. Its count starts anew."""
    _balance(service, account)
    service.ledger.thaw(account=account)
    return _done(service, _balance(service, account))


@admin_router.get("/keys", response_model=list[KeyBody])
def keys(service: Acting) -> Response:
    """List all keys there were, without their secrets."""
    return json_response([_key(one) for one in service.keys.all()])


@admin_router.post("/keys", response_model=SecretBody, responses=_BODY)
def create_key(service: Acting, told: Annotated[NewKeyBody, Body()]) -> Response:
    """Make a key. Its secret is in the answer and never shown again."""
    return _secret(service, service.keys.create(told.name, told.role, told.grants, days=told.days))


@admin_router.post("/keys/{key}/rotate", response_model=SecretBody, responses=_BODY)
def rotate_key(service: Acting, key: KeyId, told: Annotated[DaysBody, Body()]) -> Response:
    """Give a key another secret, shown this once. Its id, role and grants stay; the old secret is refused."""
    return _secret(service, service.keys.rotate(key, days=told.days))


@admin_router.delete("/keys/{key}", response_model=KeyBody)
def revoke_key(service: Acting, key: KeyId) -> Response:
    """End a key, for ever. Every server refuses it within a second."""
    service.keys.revoke(key)
    return _done(service, _found(service, key))


@admin_router.put("/keys/{key}/grants/{name}", response_model=KeyBody, responses=_BODY)
def grant(service: Acting, key: KeyId, name: Name, told: Annotated[GrantBody, Body()]) -> Response:
    """Let a key ask about a data set, paid by an account. A grant it had there before is replaced."""
    service.keys.grant(key, name, told.account)
    return _done(service, _found(service, key))


@admin_router.delete("/keys/{key}/grants/{name}", response_model=KeyBody)
def withdraw(service: Acting, key: KeyId, name: Name) -> Response:
    """Let a key not ask about a data set any more."""
    service.keys.withdraw(key, name)
    return _done(service, _found(service, key))


def _done(service: QueryService, body: Mapping[str, Any]) -> Response:
    service.forget()
    return json_response(body)


def _secret(service: QueryService, key: str) -> Response:
    return _done(service, {"id": key_id(key), "key": key})


def _offered(service: QueryService, name: str) -> DatasetState:
    if name not in service.config.datasets:
        raise AccessError(404, "There is no such data set here.")
    return service.ledger.dataset(name)


def _dataset(service: QueryService, name: str) -> dict[str, Any]:
    # Where the rows lie is the business of whoever has the configuration.
    return {key: of for key, of in dataset_as_dict(_offered(service, name)).items() if key != "source"}


def _balance(service: QueryService, account: str) -> dict[str, Any]:
    found = {one.name: name for name, one in service.ledger.accounts()}
    if found.get(account) not in service.config.datasets:
        raise AccessError(404, "There is no such account here.")
    return balance_as_dict(service.ledger.account(account).balance())


def _found(service: QueryService, key: str) -> dict[str, Any]:
    (found,) = (one for one in service.keys.all() if one.caller.key == key)
    return _key(found)


def _key(record: KeyRecord) -> dict[str, Any]:
    who = record.caller
    facts = {name: getattr(record, name) for name in ("created", "revoked", "expires", "last_used")}
    return {"id": who.key, "name": who.name, "role": who.role, "grants": dict(who.grants), **facts}


def _limit(told: LimitBody | None, state: DatasetState) -> Amount | None:
    return None if told is None else amount_of(told.budget(), state.accounting)
