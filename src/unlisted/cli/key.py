"""`unlisted key`: who may ask a service, in which role, and which account pays."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted.cli.budgets import FormatOption, LedgerOption, ListChoice
from unlisted.cli.options import open_ledger
from unlisted.errors import InvalidArgumentError

if TYPE_CHECKING:
    from unlisted.server.auth import KeyRecord

key = typer.Typer(help="Make, list, change and revoke the keys of a service.", no_args_is_help=True)

GrantOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DATASET=ACCOUNT",
        help="Let it ask about a data set, paid by an account. May be given several times.",
    ),
]


DaysOption = Annotated[
    int | None, typer.Option(metavar="N", help="It is refused from then on: so many days from now.")
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The key's id: `key list` shows it.", show_default=False)
]


GrantsArgument = Annotated[
    list[str],
    typer.Argument(metavar="DATASET=ACCOUNT...", help="A data set, and who pays.", show_default=False),
]


class RoleChoice(StrEnum):
    """What a key may do."""

    analyst = "analyst"
    admin = "admin"


@key.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.", show_default=False)],
    ledger: LedgerOption,
    grant: GrantOption = None,
    role: Annotated[
        RoleChoice, typer.Option(help="An admin sees all accounts and makes keys.")
    ] = RoleChoice.analyst,
    days: DaysOption = None,
) -> None:
    """Make a key. It is shown now and never again: the ledger keeps only a hash of it."""
    from unlisted.server.auth import KeyRing  # noqa: PLC0415 - needs the ledger's store

    granted = _read_grants(grant or [])
    with open_ledger(ledger) as book:
        typer.echo(KeyRing(book).create(name, role.value, granted, days=days))
    typer.echo("Keep it now: it is not shown again.", err=True)


@key.command("list")
def list_keys(ledger: LedgerOption, format: FormatOption = ListChoice.table) -> None:  # noqa: A002
    """List all keys, by their ids; never their secrets."""
    from unlisted.server.auth import KeyRing  # noqa: PLC0415 - needs the ledger's store

    with open_ledger(ledger) as book:
        found = KeyRing(book).all()
    if format is ListChoice.json:
        typer.echo(json.dumps([_as_dict(one) for one in found], ensure_ascii=False, indent=2))
        return
    for one in found:
        who = one.caller
        grants = ", ".join(f"{dataset}={account}" for dataset, account in who.grants.items()) or "no grants"
        typer.echo(f"{who.key}  {who.role:7}  {who.name:24}  {grants}  {_state(one)}")


@key.command("grant")
def grant(identity: IdArgument, grants: GrantsArgument, ledger: LedgerOption) -> None:
    """Let a key ask about data sets, each paid by an account. A grant it had there before is replaced."""
    from unlisted.server.auth import KeyRing  # noqa: PLC0415 - needs the ledger's store

    with open_ledger(ledger) as book:
        for dataset, account in _read_grants(grants).items():
            KeyRing(book).grant(identity, dataset, account)
            typer.echo(f"The key {identity} may ask {dataset!r}; the account {account!r} pays.")


@key.command("withdraw")
def withdraw(
    identity: IdArgument,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The data set.", show_default=False)],
    ledger: LedgerOption,
) -> None:
    """Let a key not ask about a data set any more."""
    from unlisted.server.auth import KeyRing  # noqa: PLC0415 - needs the ledger's store

    with open_ledger(ledger) as book:
        KeyRing(book).withdraw(identity, dataset)
    typer.echo(f"The key {identity} may not ask {dataset!r} any more.")


@key.command("rotate")
def rotate(identity: IdArgument, ledger: LedgerOption, days: DaysOption = None) -> None:
    """Give a key another secret, shown now and never again. The old one is refused within a second.

    Its id, role and grants stay. A key with an end lives as long again, unless you say how long.
    """
    from unlisted.server.auth import KeyRing  # noqa: PLC0415 - needs the ledger's store

    with open_ledger(ledger) as book:
        typer.echo(KeyRing(book).rotate(identity, days=days))
    typer.echo("Keep it now: it is not shown again.", err=True)


@key.command("revoke")
def revoke(identity: IdArgument, ledger: LedgerOption) -> None:
    """End a key. A running service refuses it within a second."""
    from unlisted.server.auth import KeyRing  # noqa: PLC0415 - needs the ledger's store

    with open_ledger(ledger) as book:
        KeyRing(book).revoke(identity)
    typer.echo(f"The key {identity} is revoked.")


def _state(record: KeyRecord) -> str:
    """Say what became of a key."""
    if record.revoked:
        return f"revoked {record.revoked}"
    ends = "" if record.expires is None else f", {'ended' if record.is_expired else 'ends'} {record.expires}"
    return f"made {record.created}{ends}, {f'last used {record.last_used}' if record.last_used else 'never used'}"


def _read_grants(told: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in told]
    for text, (dataset, equals, account) in zip(told, pairs, strict=True):
        if not (dataset and equals and account):
            raise InvalidArgumentError(
                "--grant", text, "DATASET=ACCOUNT", "For example: --grant searches=ads-team"
            )
    return {dataset: account for dataset, _, account in pairs}


def _as_dict(record: KeyRecord) -> dict[str, object]:
    who = record.caller
    return {
        "id": who.key,
        "name": who.name,
        "role": who.role,
        "grants": dict(who.grants),
        "created": record.created,
        "revoked": record.revoked,
        "expires": record.expires,
        "last_used": record.last_used,
    }
