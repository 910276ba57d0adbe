"""Bounding and counting done slowly in plain Python: what every engine must agree with, row for row.

It encodes and hashes as the statements do, so that for users and items that are text or whole numbers not only
the bounds but the choice itself can be compared.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from unlisted.tables.bounding import KEY_DIGITS

Row = dict[str, Any]
Label = tuple[Any, ...]
Pairs = dict[Any, dict[Label, int]]
"""Of each user: the items with the number of rows."""
Key = Callable[[str], Any]
"""The key of a text, by which a user's items are chosen."""


def encoded(secret: bytes, user: Any, label: Label) -> str:
    """What is hashed for a user's item: different for different secrets, users and items."""
    *first, last = (str(part) for part in label)
    text = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    text += f"{len(str(user).encode())}:{user}:"
    return text + "".join(f"{len(part.encode())}:{part}" for part in first) + last


def sha256(text: str) -> str:
    """The key of a text in every engine that has none of its own."""
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def pairs(
    rows: Iterable[Row],
    user: str,
    items: tuple[str, ...],
    *,
    where: Callable[[Row], bool] = lambda _: True,
    max_label_bytes: int = 1024,
) -> Pairs:
    """Each user's items, of the rows that count."""
    found: Pairs = defaultdict(Counter)
    for row in rows:
        who, label = row[user], tuple(row[item] for item in items)
        if not where(row) or any(map(is_no_value, (who, *label))):
            continue
        if sum(len(part.encode()) for part in label if isinstance(part, str)) <= max_label_bytes:
            found[who][label] += 1
    return found


def is_no_value(part: Any) -> bool:
    return part is None or (isinstance(part, float) and math.isnan(part))


def bounded(found: Pairs, items_per_user: int | None, secret: bytes, key: Key) -> Pairs:
    """The items that each user keeps: those whose key is strictly below the (N+1)-th smallest."""
    kept: Pairs = {}
    for who, items in found.items():
        if items_per_user is None or len(items) <= items_per_user:
            kept[who] = dict(items)
        else:
            keys = {label: key(encoded(secret, who, label)) for label in items}
            limit = sorted(keys.values())[items_per_user]
            kept[who] = {label: n for label, n in items.items() if keys[label] < limit}
    return kept


def counts(kept: Pairs, rows_per_item: int | None = None) -> dict[Label, int]:
    """How many users, or how many rows within the bound, have each item."""
    total: Counter[Label] = Counter()
    for items in kept.values():
        for label, n in items.items():
            total[label] += 1 if rows_per_item is None else min(n, rows_per_item)
    return dict(total)


def top(counted: dict[Label, int], rows: int) -> list[tuple[Label, int]]:
    """The largest counts, ties by the bytes of the label."""
    return sorted(counted.items(), key=lambda one: (-one[1], [_as_ordered(part) for part in one[0]]))[:rows]


def _as_ordered(part: Any) -> Any:
    return part.encode() if isinstance(part, str) else part
