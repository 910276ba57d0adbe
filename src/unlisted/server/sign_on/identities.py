"""How people who signed in are told apart from keys, and why somebody does not get in."""

from __future__ import annotations

import base64
import re

PREFIX = "sso:"
"""What the ledger writes before a person's name, where a key would have its id."""

LONGEST_NAME = 200

_SESSION = re.compile(r"sso_([A-Za-z0-9_-]{43})_([A-Za-z0-9_-]+)", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*", re.ASCII)

NO_GROUP = "You are known, but none of your groups may do anything here. Ask whoever runs the service."

REASONS = {
    "group": NO_GROUP,
    "denied": "The sign-on service did not let you in, or you changed your mind there. Begin again, or use a key.",
    "stale": "This sign-in was begun in another browser, took too long or was used before. Begin again.",
    "token": "What the sign-on service answered cannot be trusted. Whoever runs the service finds why in its log.",
    "away": "The sign-on service cannot be asked at this moment. Try again soon, or use a key.",
}
"""Why somebody does not get in, as the page says it."""


class SignInRefusedError(Exception):
    """Somebody does not get in. `reason` is one of `REASONS`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(REASONS[reason])


def session_text(token: str, person: str) -> str:
    """Return what a cookie holds of a session, in the place of a key."""
    return f"sso_{token}_{base64.urlsafe_b64encode(person.encode()).decode().rstrip('=')}"


def token_of_session(text: str) -> str | None:
    """Return the secret part of a session; None if the text is none."""
    form = _SESSION.fullmatch(text)
    return None if form is None else form.group(1)


def owner_of(text: str) -> str:
    """Return what the ledger calls whoever a session belonged to; empty if the text is none."""
    form = _SESSION.fullmatch(text)
    return "" if form is None else PREFIX + base64.urlsafe_b64decode(form.group(2) + "==").decode()


def is_signed_on(text: str) -> bool:
    """Return whether a text has the form of a session or a token, which no key has."""
    return _SESSION.fullmatch(text) is not None or _TOKEN.fullmatch(text) is not None
