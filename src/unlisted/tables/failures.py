"""What becomes of an error after data was touched: one fixed message for the analyst, the cause for the owner.

An engine's message can quote a row, and even which error came can depend on one. So the cause goes to the logger
`unlisted.owner` and nowhere else. That logger hands nothing on to other loggers and prints nothing by itself: who
owns the data attaches a handler to it, and keeps what it writes as close as the data.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unlisted.errors import ChargedFailureError, InvalidArgumentError

OWNER_LOG = logging.getLogger("unlisted.owner")
OWNER_LOG.propagate = False
OWNER_LOG.addHandler(logging.NullHandler())


@contextmanager
def charged() -> Iterator[None]:
    """Turn whatever fails inside into a `ChargedFailureError`, and tell the cause to the owner's log only."""
    try:
        yield
    except ChargedFailureError:
        raise
    except Exception:  # whatever the cause, the answer is the same
        OWNER_LOG.exception("A question failed after data was touched; where an account pays, it stays charged.")
        raise ChargedFailureError from None


@contextmanager
def causes_kept_in(file: Path | None, argument: str) -> Iterator[None]:
    """Append the causes of failures to a file; a new one is readable by its owner only. `argument` named it."""
    if file is None:
        yield
        return
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        handler = logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    except OSError:
        raise InvalidArgumentError(argument, str(file), "a file that can be written to") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    OWNER_LOG.addHandler(handler)
    try:
        yield
    finally:
        OWNER_LOG.removeHandler(handler)
        handler.close()
