"""Questions that were answered before, by this process, and are asked again: the same bytes, without the ledger.

The ledger replays an answer for a request of the same name, or for the same question about the same version of the
data. Neither can change any more, so what was sent once may be sent again. Where answers have a fixed time nothing
is remembered: they all take the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from unlisted.server.memory import Memory

_MOST, _LARGEST = 512, 65_536


@dataclass(frozen=True)
class Repeated:
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


class Repeats:
    """The answers that this process sent last."""

    def __init__(self, *, padded: bool) -> None:
        self._answers: Memory[Repeated, Response] = Memory(_MOST)
        self._padded = padded

    def get(self, asked: Repeated) -> Response | None:
        """Return what was sent to the same request before."""
        return self._answers.get(asked) if asked.may_be else None

    def put(self, asked: Repeated, answer: Response) -> Response:
        """Remember an answer that was sent, and return it."""
        if asked.may_be and not self._padded and len(answer.body) <= _LARGEST:
            self._answers.put(asked, answer)
        return answer
