"""What a process remembers so that it need not ask again: so much and no more, and not long if it may change.

Answers are remembered too. The ledger replays an answer for a request of the same name, or for the same question
about the same version of the data. Neither can change any more, so what was sent once may be sent again. Where
answers have a fixed time nothing is remembered: they all take the same way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from starlette.responses import Response

Key = TypeVar("Key")
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Values by key. When there are too many, all are forgotten; after `seconds`, each is. Safe in threads."""

    def __init__(self, most: int, seconds: float = float("inf")) -> None:
        self._most = most
        self._seconds = seconds
        self._known: dict[Key, tuple[float, Value]] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        """Return what is remembered, if it is. Never waits."""
        found = self._known.get(key)
        return None if found is None or time.monotonic() - found[0] >= self._seconds else found[1]

    def put(self, key: Key, value: Value) -> Value:
        """Remember a value, and return it."""
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = (time.monotonic(), value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()


_MOST, _LARGEST = 512, 65_536


@dataclass(frozen=True)
class AnswerKey:
    """What makes two requests one: who pays, the plan, the name of the request or the version, and the format."""

    account: str
    plan: str
    idempotency_key: str | None
    version: str | None
    accepted: str

    @property
    def may_be(self) -> bool:
        """Whether the ledger would replay it."""
        return self.idempotency_key is not None or self.version is not None


class AnswerCache:
    """The answers that this process sent last."""

    def __init__(self, *, padded: bool) -> None:
        self._answers: Cache[AnswerKey, Response] = Cache(_MOST)
        self._padded = padded

    def get(self, asked: AnswerKey) -> Response | None:
        """Return what was sent to the same request before."""
        return self._answers.get(asked) if asked.may_be else None

    def put(self, asked: AnswerKey, answer: Response) -> Response:
        """Remember an answer that was sent, and return it."""
        if asked.may_be and not self._padded and len(answer.body) <= _LARGEST:
            self._answers.put(asked, answer)
        return answer
