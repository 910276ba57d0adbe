"""People who signed in: from what the provider says of them to a caller like any other.

Whoever signs in in a browser gets a session: a token of 256 random bits, of which the ledger's database keeps a
hash with the person and the groups, sealed with the service's secret. So a session is known to every server,
nobody who has only the secret or only the database can make one, and what groups may do is looked up each time.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from unlisted.errors import AccessError
from unlisted.ledger import rows
from unlisted.ledger.store import Store
from unlisted.server.auth import Caller
from unlisted.server.observability import LOG
from unlisted.server.shared_state import put, put_once, sign_on_sessions, used_sign_ins
from unlisted.server.sign_on.identities import (
    LONGEST_NAME,
    NO_GROUP,
    PREFIX,
    SignInRefusedError,
    session_text,
    token_of_session,
)
from unlisted.server.sign_on.provider import Provider, ProviderAwayError, TokenError, TokenOverError
from unlisted.server.sign_on.settings import SignOnSettings

Seal = tuple[Callable[[str], str], Callable[[str], str | None]]
"""How the service seals a text so that only it can read it, and how it opens one."""

BEGUN_SECONDS = 600
"""For so long a sign-in that was begun may take."""


@dataclass(frozen=True)
class Begun:
    """A sign-in on its way: what comes back must carry the same, and where the browser goes then."""

    state: str
    nonce: str
    verifier: str
    draft: str = ""


class People:
    """Whoever the provider knows and a group lets in."""

    def __init__(self, settings: SignOnSettings, store: Store, seal: Seal) -> None:
        self._settings = settings
        self._provider = Provider(settings)
        self._store = store
        self._sealed, self._unsealed = seal

    # Signing in.

    def begin(self, draft: str) -> tuple[str, str]:
        """Return where a browser goes to sign in, and what it keeps meanwhile, sealed."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        begun = Begun(state, nonce, verifier, draft[:LONGEST_NAME])
        url = self._provider.authorization_url(begun.state, begun.nonce, begun.verifier)
        kept = {**vars(begun), "until": time.time() + BEGUN_SECONDS}
        return url, self._shut("begun", kept)

    def finish(self, kept: str, told: Mapping[str, str]) -> tuple[str, Caller, str]:
        """Return the session of whoever came back, who it is, and the draft to go on with."""
        begun = self._begun(kept, told.get("state", ""))
        if "code" not in told or told.get("iss", self._settings.issuer) != self._settings.issuer:
            raise SignInRefusedError("denied" if "error" in told else "token")
        try:
            claims = self._provider.redeem(told["code"][:_LONGEST_CODE], begun.nonce, begun.verifier)
            person, name, groups = self._person(claims)
        except ProviderAwayError as away:
            LOG.warning("Nobody can sign in at the provider: %s.", away.why)
            raise SignInRefusedError("away") from away
        except TokenError as wrong:
            LOG.warning("The answer to a sign-in was refused: %s.", wrong)
            raise SignInRefusedError("token") from wrong
        caller = self._caller(person, name, groups)
        if caller is None:
            raise SignInRefusedError("group")
        return self._session(person, name, groups), caller, begun.draft

    def _begun(self, kept: str, state: str) -> Begun:
        """Return the sign-in that a browser began, once: not another's, not an old one, not a second time."""
        found = self._opened("begun", kept) or {}
        until = found.pop("until", 0.0)
        if not found or time.time() > until or not secrets.compare_digest(found["state"].encode(), state.encode()):
            raise SignInRefusedError("stale")
        hashed, now = hashlib.sha256(state.encode()).hexdigest(), time.time()
        with self._store.writing() as connection:
            connection.execute(used_sign_ins.delete().where(used_sign_ins.c.used < now - 2 * BEGUN_SECONDS))
            if not put_once(connection, used_sign_ins, {"state": hashed, "used": now}):
                raise SignInRefusedError("stale")
        return Begun(**found)

    def _session(self, person: str, name: str, groups: list[str]) -> str:
        token, now = secrets.token_urlsafe(32), time.time()
        known = [one for one in groups if one in self._settings.groups]
        body = self._shut("session", {"person": person, "name": name, "groups": known})
        row = {
            "token_sha256": _hashed(token),
            "person": person,
            "sealed": body,
            "until": now + self._settings.session,
        }
        with self._store.writing() as connection:
            connection.execute(sign_on_sessions.delete().where(sign_on_sessions.c.until < now))
            put(connection, sign_on_sessions, row)
        return session_text(token, person)

    # Coming again.

    def find(self, text: str) -> Caller | None:
        """Return who a session or a token belongs to; None if it is nobody's."""
        token = token_of_session(text)
        return self._of_token(text) if token is None else self._of_session(token)

    def _of_session(self, token: str) -> Caller | None:
        with self._store.reading() as connection:
            held = connection.execute(
                sa.select(sign_on_sessions).where(sign_on_sessions.c.token_sha256 == _hashed(token))
            ).one_or_none()
        told = None if held is None or held.until <= time.time() else self._opened("session", held.sealed)
        if told is None:
            # Only a browser can have one, and nobody guesses it: its time is over, or somebody signed out.
            raise AccessError(401, "Your session has ended. Sign in again.")
        return self._let_in(self._caller(told["person"], told["name"], told["groups"]))

    def _of_token(self, text: str) -> Caller | None:
        if self._settings.audience is None:
            raise AccessError(401, "This service takes keys, and no tokens, over the API.")
        try:
            person, name, groups = self._person(self._provider.read(text, self._settings.audience))
        except TokenOverError:
            raise AccessError(401, "The token has expired. Get a new one from the sign-on service.") from None
        except TokenError as wrong:
            LOG.warning("A token was refused: %s.", wrong)
            return None
        return self._let_in(self._caller(person, name, groups))

    def end(self, text: str) -> None:
        """End a session."""
        token = token_of_session(text)
        if token is not None:
            gone = sign_on_sessions.c.token_sha256 == _hashed(token)
            with self._store.writing() as connection:
                connection.execute(sign_on_sessions.delete().where(gone))

    def _shut(self, purpose: str, body: Mapping[str, Any]) -> str:
        """Seal something for one purpose: what is sealed for another cannot be passed off as it."""
        return self._sealed(f"sign-on {purpose} {json.dumps(body)}")

    def _opened(self, purpose: str, sealed: str) -> dict[str, Any] | None:
        opened, before = self._unsealed(sealed) or "", f"sign-on {purpose} "
        return dict(json.loads(opened.removeprefix(before))) if opened.startswith(before) else None

    def _let_in(self, caller: Caller | None) -> Caller:
        if caller is None:
            raise AccessError(403, NO_GROUP)
        return caller

    def _caller(self, person: str, name: str, groups: list[str]) -> Caller | None:
        """Return what somebody may do; a grant on an account that the data set has not is none."""
        caller = self._settings.caller(PREFIX + person, name, groups)
        if caller is None:
            return None
        with self._store.reading() as connection:
            found = {account: rows.read_account(connection, account) for account in set(caller.grants.values())}
        held = {
            dataset: account
            for dataset, account in caller.grants.items()
            if (row := found[account]) is not None and row[0] == dataset
        }
        return Caller(caller.key, caller.name, caller.role, held)

    def _person(self, claims: Mapping[str, Any]) -> tuple[str, str, list[str]]:
        """Return who a token is about: what the ledger calls them, what the page does, and their groups."""
        told, claim = self._settings, self._settings.person_claim
        person = claims.get(claim)
        if not _is_name(person) or (claim == "email" and claims.get("email_verified") is not True):
            raise TokenError(f"its {claim} is missing, too long or not verified")
        name = next((claims[one] for one in _NAMES if _is_name(claims.get(one))), person)
        groups = claims.get(told.groups_claim, [])
        groups = [groups] if isinstance(groups, str) else groups
        if not isinstance(groups, list):
            raise TokenError(f"its {told.groups_claim} are no list")
        return str(person), str(name), [one for one in groups if isinstance(one, str)]


_NAMES = ("name", "preferred_username", "email")
_LONGEST_CODE = 4096


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable()


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
