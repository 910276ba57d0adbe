"""A release as bytes, and back: what a ledger keeps, so that a repeated question gets the same answer.

A line that names the format, the length of a JSON header, the header, and the rows as an Arrow stream. Numbers of
the guarantee are exact fractions, written as text: what was promised must come back as it was promised.

Format 1, of version 0.1, had one guarantee. For a ranking that an account paid for it was what was spent, and said
nothing of the draws that were not made. What those would have cost is bounded from above by what the plan says of
the noise, so that what is read as the guarantee is never less than what the mechanism promised.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.release.release import Release, thawed

RELEASE_FORMAT = b"unlisted release "
"""How a release of any format begins; what begins otherwise is none."""

_FIRST, _SECOND = RELEASE_FORMAT + b"1\n", RELEASE_FORMAT + b"2\n"
_LENGTH_BYTES = 8

_GUMBEL = re.compile(r"Gumbel, scale ([0-9.e+-]+)")
_DIGITS_KEPT = Fraction(1, 10**5)
"""A scale was written with six digits: it is less than this part of it away from what was written."""


def release_to_bytes(release: Release) -> bytes:
    """Write a release, without the stamp of a ledger: the one that keeps the bytes knows its entry."""
    header = json.dumps(
        {
            "complete": release.complete,
            "guarantee": _guarantee_as_text(release.guarantee),
            "spent": None if release.spent is None else _guarantee_as_text(release.spent),
            "at_delta": str(release.at_delta),
            "plan": thawed(release.plan),
            "time": release.time.isoformat(),
        }
    ).encode()
    rows = io.BytesIO()
    with pa.ipc.new_stream(rows, release.table.schema) as stream:
        stream.write_table(release.table)
    return b"".join((_SECOND, len(header).to_bytes(_LENGTH_BYTES), header, rows.getvalue()))


def release_from_bytes(data: bytes, stamp: Mapping[str, Any] | None = None) -> Release:
    """Read what `release_to_bytes` wrote; `stamp` names the entry of the ledger that it was paid with."""
    if not data.startswith((_FIRST, _SECOND)):
        raise InvalidArgumentError("data", data[:20], "a release as `Release.to_bytes` writes it")
    start = len(_SECOND) + _LENGTH_BYTES
    end = start + int.from_bytes(data[len(_SECOND) : start])
    try:
        header = json.loads(data[start:end])
        with pa.ipc.open_stream(data[end:]) as stream:
            table = stream.read_all()
        guarantee = _guarantee_from_text(header["guarantee"])
        if data.startswith(_SECOND):
            spent = header["spent"] and _guarantee_from_text(header["spent"])
        else:
            spent = None if stamp is None else Guarantee(guarantee.rho, guarantee.delta)
            guarantee += _draws_not_made(header, table.num_rows) * _draw_price(header["plan"])
        return Release(
            table,
            header["complete"],
            guarantee,
            Fraction(header["at_delta"]),
            header["plan"],
            datetime.fromisoformat(header["time"]),
            stamp,
            spent,
        )
    except (AttributeError, KeyError, OSError, TypeError, ValueError, ZeroDivisionError):
        hint = "The bytes are cut short or damaged."
        raise InvalidArgumentError("data", data[:20], "a whole release", hint) from None


def _guarantee_as_text(guarantee: Guarantee) -> dict[str, Any]:
    direct = guarantee.direct
    moved = guarantee.mu_squared
    return {
        "rho": str(guarantee.rho),
        "delta": str(guarantee.delta),
        "direct": None if direct is None else [str(direct.epsilon), str(direct.delta)],
        **({} if moved is None else {"mu_squared": str(moved)}),
    }


def _guarantee_from_text(text: dict[str, Any]) -> Guarantee:
    direct = text["direct"] and EpsilonDelta(*map(Fraction, text["direct"]))
    moved = text.get("mu_squared")
    return Guarantee(
        Fraction(text["rho"]), Fraction(text["delta"]), direct, None if moved is None else Fraction(moved)
    )


def _draws_not_made(header: Mapping[str, Any], rows: int) -> int:
    """Return how many draws of a ranking of format 1 were not made."""
    plan = header["plan"]
    if header["complete"] or "k" not in plan:
        return 0
    fetched, stopped = plan.get("fetch", "all"), plan["mechanism"] == "top_k"  # there ⊥ is a draw too
    most = plan["k"] if fetched == "all" else min(plan["k"], fetched + 1)
    return int(max(0, most - rows - stopped))


def _draw_price(plan: Mapping[str, Any]) -> Guarantee:
    """Bound from above what one draw of a ranking of format 1 cost; nothing where nothing is ranked."""
    written = _GUMBEL.search(plan.get("noise", ""))
    if written is None:
        return Guarantee.nothing()
    moved = (plan.get("rows_per_item") or 1) * (1 if plan["adjacency"] == "add_remove" else 2)
    bounded_range = moved / (Fraction(written[1]) * (1 - _DIGITS_KEPT))
    return Guarantee(bounded_range**2 / 8, Fraction(0), EpsilonDelta(bounded_range, Fraction(0)))


_NOT_ITS_WORDS = frozenset({"versions", "ledger"})


def receipt_digest(receipt: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all that a receipt says of its release; whose software wrote it does not matter."""
    said = {name: value for name, value in receipt.items() if name not in _NOT_ITS_WORDS}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
