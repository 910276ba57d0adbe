"""What `unlisted.toml` says about single sign-on.

[sso]
issuer = "https://login.example.org/realms/staff"
client_id = "unlisted"
client_secret = { env = "UNLISTED_CLIENT_SECRET" }
address = "https://counts.example.org"        # how browsers reach this service

[sso.groups.analysts]
grants = { searches = "ads-team" }            # as those of a key: a data set, and the account that pays

[sso.groups.platform]
role = "admin"
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from unlisted.errors import InvalidArgumentError
from unlisted.query.http_calls import is_this_machine
from unlisted.query.project_file import Section
from unlisted.server.auth import Caller, Role

LONGEST_SESSION = 12 * 60 * 60.0
"""Seconds, after which a cookie of the console ends whoever it belongs to."""

_SESSION = 4 * 60 * 60.0
_SCOPES = ("openid", "profile", "email")


@dataclass(frozen=True)
class Group:
    """What the members of a group may do: a role, and data sets with the accounts that pay."""

    role: Role
    grants: Mapping[str, str]


@dataclass(frozen=True)
class SignOnSettings:
    """An OpenID provider, what it calls this service, and what its groups may do here.

    `address` is how browsers reach the service; `audience`, if there is one, is who a token must be meant for to
    be taken in the place of a key over the API. A session lasts for `session` seconds.
    """

    issuer: str
    client_id: str
    address: str
    groups: Mapping[str, Group]
    client_secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = _SCOPES
    groups_claim: str = "groups"
    person_claim: str = "sub"
    audience: str | None = None
    session: float = _SESSION

    @property
    def callback(self) -> str:
        """Where the provider sends a browser back to."""
        return f"{self.address}/console/sign-in/callback"

    def caller(self, person: str, name: str, groups: Collection[str]) -> Caller | None:
        """Return what a person may do who is in these groups; None if none of them may do anything.

        Where two groups have a grant on one data set, the account of the one that stands first in the file pays.
        """
        held = [group for called, group in self.groups.items() if called in groups]
        if not held:
            return None
        granted: dict[str, str] = {}
        for group in held:
            granted = {**group.grants, **granted}
        role: Role = "admin" if any(group.role == "admin" for group in held) else "analyst"
        return Caller(person, name, role, granted)


def read_sign_on(told: Section, datasets: Iterable[str]) -> SignOnSettings | None:
    """Read the section; None if there is none."""
    if not told.told:
        return None
    offered = sorted(datasets)
    settings = SignOnSettings(
        issuer=_url("sso.issuer", told.text("issuer")),
        client_id=told.text("client_id"),
        client_secret=told.secret("client_secret"),
        address=_url("sso.address", told.text("address")).rstrip("/"),
        groups={name: _group(name, one, offered) for name, one in told.sections("groups").items()},
        scopes=told.names("scopes") or _SCOPES,
        groups_claim=told.text("groups_claim", "groups"),
        person_claim=told.text("person_claim", "sub"),
        audience=told.text("audience", None),
        session=told.seconds("session") or _SESSION,
    )
    told.end()
    if not settings.groups:
        raise InvalidArgumentError("sso.groups", "none", "at least one [sso.groups.NAME]: nobody could sign in")
    if "openid" not in settings.scopes:
        raise InvalidArgumentError("sso.scopes", list(settings.scopes), 'a list that has "openid" in it')
    if settings.session > LONGEST_SESSION:
        raise InvalidArgumentError("sso.session", f"{settings.session:g} s", f"at most {LONGEST_SESSION:g} s")
    return settings


def _group(name: str, told: Section, offered: list[str]) -> Group:
    role: Role = told.choice("role", "analyst", "admin")
    granted = told.take("grants", {})
    told.end()
    argument = f"sso.groups.{name}.grants"
    if not isinstance(granted, dict) or not all(isinstance(one, str) for one in granted.values()):
        raise InvalidArgumentError(argument, granted, 'a table such as { searches = "ads-team" }')
    for dataset in granted:
        if dataset not in offered:
            raise InvalidArgumentError(argument, dataset, f"one of the data sets: {', '.join(offered)}")
    return Group(role, granted)


def _url(argument: str, text: str) -> str:
    """Refuse an address over which others could read what is sent; this machine itself is no other."""
    parts = urlsplit(text)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(parts.hostname or ""))
    if not is_safe or not parts.hostname or parts.query or parts.fragment or parts.username or parts.password:
        raise InvalidArgumentError(argument, text, "an address that begins with https://, without ? and #")
    return text
