"""What becomes of an error after data was touched: one fixed message for the analyst, the cause for the owner.

An engine's message can quote a row, and even which error came can depend on one. So the cause goes to the logger
`unlisted.owner` and nowhere else. That logger hands nothing on to other loggers and prints nothing by itself: who
owns the data attaches a handler to it, and keeps what it writes as close as the data.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from unlisted.errors import ChargedFailureError

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
        OWNER_LOG.exception("A question failed after data was touched; it stays charged.")
        raise ChargedFailureError from None
