"""What becomes of an error after data was touched: one fixed message for the analyst, the cause for the owner.

An engine's message can quote a row, and even which error came can depend on one. So the cause goes to the logger
`unlisted.owner` and nowhere else. That logger hands nothing on to other loggers and prints nothing by itself: who
owns the data attaches a handler to it, and keeps what it writes as close as the data.

What fails in a rehearsal, where there are no rows, tells of none: it is refused in words, and nothing is charged.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unlisted.errors import CannotAnswerError, ChargedFailureError, InvalidArgumentError, UnlistedError

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
def uncharged() -> Iterator[None]:
    """Turn whatever fails inside, where there are no rows, into a refusal in words; the cause goes to the log too.

    A refusal in words of our own passes as it is.
    """
    try:
        yield
    except ChargedFailureError:
        # What told of rows that changed in between was told about none.
        raise CannotAnswerError("it already fails on an empty table") from None
    except UnlistedError:
        raise
    except Exception as cause:
        OWNER_LOG.exception("A question failed in a rehearsal on no rows; nothing was charged.")
        raise CannotAnswerError(_in_words(cause)) from None


def _in_words(cause: Exception) -> str:
    """Name a failure that no row had a part in. Paths and tables are left to the log: they are the owner's."""
    # Looking packages up takes a while to import, and few need it.
    from unlisted.tables.versions import too_old  # noqa: PLC0415

    package, kind = type(cause).__module__.partition(".")[0].lstrip("_"), type(cause).__name__
    said = f"{kind} from {package}" if package != "builtins" else kind
    if isinstance(cause, AttributeError | ImportError):
        # Such a message names a function or a module, nothing else.
        said = f"{kind}, {cause}"
    return "; ".join([said, *too_old()])


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
