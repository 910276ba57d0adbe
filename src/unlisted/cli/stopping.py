"""What becomes of Ctrl-C while a question is being answered: one line, and the exit code of what touched data.

Who pressed Ctrl-C knows the cause, and it says nothing of the data; so this one failure is told for what it is.
What was charged, the interrupt itself says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from unlisted.cli.exits import CHARGED, leave


@contextmanager
def stoppable() -> Iterator[None]:
    """Say that what runs inside was stopped with Ctrl-C, and what follows from that."""
    try:
        yield
    except KeyboardInterrupt as stop:
        said = getattr(stop, "__notes__", [])
        if not said:
            # It came before anything had begun.
            raise
        leave(" ".join(["stopped.", *said]), CHARGED)
