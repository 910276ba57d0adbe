"""A release as bytes, and back: what a ledger keeps, so that a repeated question gets the same answer.

A line that names the format, the length of a JSON header, the header, and the rows as an Arrow stream. Numbers of
the guarantee are exact fractions, written as text: what was promised must come back as it was promised.
"""

from __future__ import annotations

import io
import json
from datetime import datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.release.release import Release, thawed

RELEASE_FORMAT = b"unlisted release 1\n"
"""How a release begins; what begins otherwise is none."""

_LENGTH_BYTES = 8


def release_to_bytes(release: Release) -> bytes:
    """Write a release, without the stamp of a ledger: the one that keeps the bytes knows its entry."""
    header = json.dumps(
        {
            "complete": release.complete,
            "guarantee": _guarantee_as_text(release.guarantee),
            "at_delta": str(release.at_delta),
            "plan": thawed(release.plan),
            "time": release.time.isoformat(),
        }
    ).encode()
    rows = io.BytesIO()
    with pa.ipc.new_stream(rows, release.table.schema) as stream:
        stream.write_table(release.table)
    return b"".join((RELEASE_FORMAT, len(header).to_bytes(_LENGTH_BYTES), header, rows.getvalue()))


def release_from_bytes(data: bytes) -> Release:
    """Read what `release_to_bytes` wrote."""
    if not data.startswith(RELEASE_FORMAT):
        raise InvalidArgumentError("data", data[:20], "a release as `Release.to_bytes` writes it")
    start = len(RELEASE_FORMAT) + _LENGTH_BYTES
    end = start + int.from_bytes(data[len(RELEASE_FORMAT) : start])
    try:
        header = json.loads(data[start:end])
        with pa.ipc.open_stream(data[end:]) as stream:
            table = stream.read_all()
        return Release(
            table,
            header["complete"],
            _guarantee_from_text(header["guarantee"]),
            Fraction(header["at_delta"]),
            header["plan"],
            datetime.fromisoformat(header["time"]),
        )
    except (KeyError, OSError, TypeError, ValueError):
        hint = "The bytes are cut short or damaged."
        raise InvalidArgumentError("data", data[:20], "a whole release", hint) from None


def _guarantee_as_text(guarantee: Guarantee) -> dict[str, Any]:
    direct = guarantee.direct
    return {
        "rho": str(guarantee.rho),
        "delta": str(guarantee.delta),
        "direct": None if direct is None else [str(direct.epsilon), str(direct.delta)],
    }


def _guarantee_from_text(text: dict[str, Any]) -> Guarantee:
    direct = text["direct"] and EpsilonDelta(*map(Fraction, text["direct"]))
    return Guarantee(Fraction(text["rho"]), Fraction(text["delta"]), direct)
