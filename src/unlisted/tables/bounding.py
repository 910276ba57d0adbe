"""At most N distinct items a user, chosen uniformly: the statement that every count is made from.

The order of things is fixed. The predicate first; then rows without a user or an item, and users and labels
that are too long, go; then a user's rows of one item become one pair; then a user with more than N pairs keeps
those whose key, the hash of a secret, the user and the item, is strictly below the user's (N+1)-th smallest key.
That is the same as to keep a pair if at most N of the user's pairs have a key at or below its own, which is how
the statement says it: pairs with equal keys stand or fall together, so a tie can drop a pair but never add one.
Users with at most N pairs keep all, and no key is computed for them.

Which pairs a user keeps depends on nothing but the secret and the user's own rows. So the bound holds whatever the
hash does, and one user changes nothing in what another keeps: privacy does not rest on the hash. It decides only
how fair the choice is. What is hashed begins with a fresh secret of 128 bits and is an encoding that no two pairs
share. The hash is SHA-256, which every engine has, so that all of them make the same choice; an engine may bring
its own (`OwnKey`) where SHA-256 would slow the whole count down.
"""

# ruff: noqa: S608 - statements are made of quoted names, whole numbers and a secret in base64

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from unlisted.counts.readable import LONGEST_USER
from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import fresh_bits
from unlisted.tables.cluster import thinning
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.engine import SOURCE, Engine, OwnKey
from unlisted.tables.items import ItemColumn, item_columns, keys_of

SECRET_BYTES = 16
KEY_DIGITS = 12
"""Hexadecimal digits of a key: 48 bits. Two of a user's thousand items tie with probability 2e-9, and a tie only
drops; short texts are sorted faster."""

LARGEST_BOUND = 2**62
"""No table has that many rows, so larger bounds mean the same as this one, and this one fits every engine."""


def fresh_secret() -> bytes:
    """Return a new secret for one release."""
    return fresh_bits().take(SECRET_BYTES)


def bounded_counts(engine: Engine, user: str, question: CountQuery, secret: bytes) -> str:
    """Return the query whose rows are the items (`i0`, `i1`, ...) with their bounded counts `n`."""
    items = item_columns(question, engine.columns())
    keys, total = keys_of(items), total_of(question)
    if question.items_per_user is None:
        pairs = distinct_pairs(engine, user, question, items)
        return f'SELECT {keys}, {total} AS "n" FROM ({pairs}) AS "pairs" GROUP BY {keys}'
    kept = _kept(engine, user, question, secret, carried=_counted(question, items))
    return f'{kept}\nSELECT {keys}, {total} AS "n" FROM "kept" GROUP BY {keys}'


def bounded_pairs(engine: Engine, user: str, question: CountQuery, secret: bytes) -> str:
    """Return the query for the pairs that bounded counts are made from: user `u`, item, and `m` if rows count."""
    carried = f'"u", {_counted(question, item_columns(question, engine.columns()))}'
    return f'{_kept(engine, user, question, secret, carried=carried)}\nSELECT {carried} FROM "kept"'


def _counted(question: CountQuery, items: tuple[ItemColumn, ...]) -> str:
    """List the names of what is counted: the item, and how often where rows are counted."""
    return keys_of(items) if question.count == "users" else f'{keys_of(items)}, "m"'


def _kept(engine: Engine, user: str, question: CountQuery, secret: bytes, *, carried: str) -> str:
    """Return the clauses in which `kept` are the question's pairs within the bound, of which names are carried."""
    items = item_columns(question, engine.columns())
    pairs = distinct_pairs(engine, user, question, items)
    choice = Choice(engine, items, secret)
    clauses = choice.kept(question.items_per_user or LARGEST_BOUND, _counted(question, items), carried)
    return f'WITH "pairs" AS MATERIALIZED ({pairs}),\n{clauses}'


@dataclass(frozen=True)
class Choice:
    """Which of their pairs users over a bound keep, by a secret."""

    engine: Engine
    items: tuple[ItemColumn, ...]
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < SECRET_BYTES:
            raise InvalidArgumentError("secret", f"{len(self.secret)} bytes", f"at least {SECRET_BYTES} bytes")

    def kept(self, bound: int, counted: str, carried: str, pairs: str = '"pairs"') -> str:
        """Return the clauses in which `kept` are those of the relation `pairs` that are within the bound.

        `counted` lists what a pair has beside its user, `carried` what is carried along of it.
        """
        bound, prefix, key = min(bound, LARGEST_BOUND), self._prefix, self._key
        thin = thinning(self.engine, counted, key, bound, pairs)
        return f"""
"heavy" AS MATERIALIZED (
    SELECT "u" AS "h", {prefix} AS "prefix"{thin.size} FROM {pairs} GROUP BY "u" HAVING COUNT(*) > {bound}
),{thin.clauses}
"keyed" AS (
    SELECT "u", {counted}, {key} AS "k" FROM {thin.rest} JOIN "heavy" ON "u" = "h"{thin.thinned}
),
"ranked" AS (
    SELECT {carried}, COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"
),
"kept" AS (
    SELECT {carried} FROM {thin.rest} WHERE NOT EXISTS (SELECT 1 FROM "heavy" WHERE "h" = "u")
    UNION ALL
    SELECT {carried} FROM "ranked" WHERE "r" <= {bound}
)""".strip()

    @property
    def _prefix(self) -> str:
        """What is hashed before a user's item: the secret and the user, with its length."""
        digits = base64.urlsafe_b64encode(self.secret).decode().rstrip("=")
        user = 'CAST("u" AS VARCHAR)'
        return f"'{digits}' || CAST(STRLEN({user}) AS VARCHAR) || ':' || {user} || ':'"

    @property
    def _key(self) -> str:
        """The key of a pair. Every text but the last carries its length, so that no two are hashed alike."""
        *first, last = self.items
        parts = [f"CAST(STRLEN({item.text}) AS VARCHAR) || ':' || {item.text}" for item in first]
        encoded = " || ".join(['"prefix"', *parts, last.text])
        if isinstance(self.engine, OwnKey):
            return self.engine.key(encoded)
        return f"LEFT(SHA256({encoded}), {KEY_DIGITS})"


def distinct_pairs(engine: Engine, user: str, question: CountQuery, items: tuple[ItemColumn, ...]) -> str:
    """Return the query for the distinct pairs of user `u` and item, with `m` rows each if rows are counted."""
    values = ", ".join(f"{engine.plain(item.source)} AS {item.value}" for item in items)
    rows = f'SELECT {engine.whose(user)} AS "u", {values} FROM "{SOURCE}"'
    flags = "".join(f", {item.flag}" for item in items if item.flag)
    conditions = ['"u" IS NOT NULL', *(f"{item.value} IS NOT NULL" for item in items)]
    if engine.columns()[user] in (ColumnType.TEXT, ColumnType.OTHER):
        # Numbers, days and moments are short.
        conditions.append(f'STRLEN(CAST("u" AS VARCHAR)) <= {LONGEST_USER}')
    if texts := [item.value for item in items if item.kind is ColumnType.TEXT]:
        size = " + ".join(f"STRLEN({text})" for text in texts)
        conditions.append(f"{size} <= {min(question.max_label_bytes, LARGEST_BOUND)}")
    keys = keys_of(items)
    named = ", ".join(item.value for item in items)
    good = f'SELECT "u", {named}{flags} FROM ({rows}) AS "rows" WHERE {" AND ".join(conditions)}'
    if question.rows_per_item is None:
        return f'SELECT DISTINCT "u", {keys} FROM ({good}) AS "good"'
    most = min(question.rows_per_item, LARGEST_BOUND)
    return f'SELECT "u", {keys}, LEAST(COUNT(*), {most}) AS "m" FROM ({good}) AS "good" GROUP BY "u", {keys}'


def total_of(question: CountQuery) -> str:
    """Return what adds up the pairs of an item."""
    return "COUNT(*)" if question.count == "users" else 'CAST(SUM("m") AS BIGINT)'
