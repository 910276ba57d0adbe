"""Small streams for tests: settings without a search, little noise, low thresholds."""

from __future__ import annotations

import zlib
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from unlisted.mechanisms.continual.binary.tree import largest_popcount
from unlisted.mechanisms.continual.correlated.price import class_ends
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.release.release import Release
from unlisted.streams import folder
from unlisted.streams.settings import Settings
from unlisted.streams.stream import Stream

STILL = Fraction(1, 5000)
"""The variance of noise so small that counts are what they are."""


def settings(**changed: Any) -> Settings:
    """Settings with one threshold for all rounds, and noise whose first draw has this variance."""
    fields: dict[str, Any] = {
        "rounds": 12,
        "items_per_event": 3,
        "count_per_item": 1,
        "unit": "event",
        "noise": "correlated",
        "rounds_per_user": None,
        "display": "live",
        "release_every": 1,
        "user": "user",
        "item": ("item",),
        "where": None,
        "max_label_bytes": 1024,
        "source": "a stream",
        "variance": Fraction(2),
        "at_delta": Fraction(1, 2),
        "reason": "made for a test.",
        **changed,
    }
    if "items_per_user" in changed:
        fields["items_per_event"] = None
    lowest = (fields["rounds_per_user"] or 1) * fields["count_per_item"]
    steps = fields.get("window", fields["rounds"]) // fields["release_every"]
    threshold = fields.pop("threshold", lowest + 3)
    if fields["noise"] == "tree":
        return Settings(**{"thresholds": (threshold,) * largest_popcount(steps), **fields})
    recursion = Recursion.for_steps(steps)
    fields["variance"] *= 4**recursion.grid
    return Settings(**fields, thresholds=(threshold,) * len(class_ends(steps)), recursion=recursion)


def brook(path: Path, **changed: Any) -> Stream:
    folder.create(path, settings(**changed), None)
    return Stream.open(path)


def quiet_brook(path: Path, **changed: Any) -> Stream:
    """A stream whose noise is 0 but for a chance of e^-50: what remains is the counting."""
    return brook(path, **{"variance": STILL, **changed})


def shown(release: Release | None) -> list[tuple[Any, int]]:
    assert release is not None
    return [(row["item"], row["count"]) for row in release.rows]


def rows_of(*pairs: tuple[Any, Any]) -> pa.Table:
    """A table of (user, item) rows."""
    return pa.table({"user": [user for user, _ in pairs], "item": [item for _, item in pairs]})


def inflated(log: bytes) -> bytes:
    """What is in a log, with every part that is compressed as it was before."""
    parts, at = [log], log.find(b"x\x9c")
    while at >= 0:
        with suppress(zlib.error):
            parts.append(zlib.decompressobj().decompress(log[at:]))
        at = log.find(b"x\x9c", at + 1)
    return b"\n".join(parts)


def files_of(path: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes, but for the lock."""
    return {
        found.relative_to(path).as_posix(): found.read_bytes()
        for found in sorted(path.rglob("*"))
        if found.is_file() and found.name != "lock"
    }
