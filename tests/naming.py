"""Names for parametrised tests: the same in every process, so that several can share the work."""

from __future__ import annotations

import re


def said(value: object) -> str:
    """Return what a value looks like, without where in memory it lies."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
