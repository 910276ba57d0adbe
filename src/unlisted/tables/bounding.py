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
from dataclasses import dataclass, field, replace

from unlisted.counts.readable import LONGEST_USER
from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import fresh_bits
from unlisted.tables.cluster import Thinning, thinning
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.engine import SOURCE, Columnar, Engine, OwnKey
from unlisted.tables.items import ItemColumn, item_columns, keys_of

SECRET_BYTES = 16
KEY_DIGITS = 12
"""Hexadecimal digits of a key: 48 bits. Two of a user's thousand items tie with probability 2e-9, and a tie only
drops; short texts are sorted faster."""

_USER = 'CAST("u" AS VARCHAR)'
_AMOUNT = '"amount"'

LARGEST_BOUND = 2**62
"""No table has that many rows, so larger bounds mean the same as this one, and this one fits every engine."""


def fresh_secret() -> bytes:
    """Return a new secret for one release."""
    return fresh_bits().take(SECRET_BYTES)


def bounded_counts(engine: Engine, user: str, question: CountQuery, secret: bytes) -> str:
    """Return the query whose rows are the items (`i0`, `i1`, ...) with their bounded counts `n`."""
    items = item_columns(question.items, engine.columns())
    keys, total = keys_of(items), total_of(question)
    if question.items_per_user is None:
        pairs = distinct_pairs(engine, user, question, items, secret)
        return f'{pairs.clauses}SELECT {keys}, {total} AS "n" FROM ({pairs.query}) AS "pairs" GROUP BY {keys}'
    kept = _kept(engine, user, question, secret, carried=_counted(question, items))
    return f'{kept}\nSELECT {keys}, {total} AS "n" FROM "kept" GROUP BY {keys}'


def bounded_pairs(engine: Engine, user: str, question: CountQuery, secret: bytes) -> str:
    """Return the query for the pairs that bounded counts are made from: user `u`, item, and `m` if rows count."""
    carried = f'"u", {_counted(question, item_columns(question.items, engine.columns()))}'
    return f'{_kept(engine, user, question, secret, carried=carried)}\nSELECT {carried} FROM "kept"'


def counts_in_one_pass(columns: Columnar, user: str, question: CountQuery, secret: bytes) -> str:
    """Return the clauses in which `counts` are the bounded counts, each clause read once, by the next.

    For systems of which we know neither what a statement sees that reads a table twice, nor what reading it twice
    costs. Every pair has a key then, and where two keys are equal, the label decides. A pair is kept or not by the
    secret and its user's own rows, as above, and of each user at most N are.
    """
    items = item_columns(question.items, columns.columns())
    counted, keys = _counted(question, items), keys_of(items)
    clauses = [f'"pairs" AS ({_all_pairs(columns, user, question, items)})']
    if question.items_per_user is None:
        kept = '"pairs"'
    else:
        choice = Choice(columns, items, secret)
        kept = f'"ranked" WHERE "r" <= {min(question.items_per_user, LARGEST_BOUND)}'
        clauses += [
            f'"prefixed" AS (SELECT "u", {counted}, {choice._prefix} AS "prefix" FROM "pairs")',
            f'"keyed" AS (SELECT "u", {counted}, {choice._key} AS "k" FROM "prefixed")',
            f'"ranked" AS (SELECT {counted}, ROW_NUMBER() OVER (PARTITION BY "u" ORDER BY "k", {keys}) AS "r" '
            'FROM "keyed")',
        ]
    clauses.append(f'"counts" AS (SELECT {keys}, {total_of(question)} AS "n" FROM {kept} GROUP BY {keys})')
    return f"WITH {', '.join(clauses)}"


def _counted(question: CountQuery, items: tuple[ItemColumn, ...]) -> str:
    """List the names of what is counted: the item, and how often or how much where that is asked."""
    if question.amounts is not None:
        return f'{keys_of(items)}, "a"'
    return keys_of(items) if question.count == "users" else f'{keys_of(items)}, "m"'


def _kept(engine: Engine, user: str, question: CountQuery, secret: bytes, *, carried: str) -> str:
    """Return the clauses in which `kept` are the question's pairs within the bound, of which names are carried."""
    items = item_columns(question.items, engine.columns())
    found = distinct_pairs(engine, user, question, items, secret)
    pairs = found.query
    if question.groups is not None and question.groups.per_user > 1:
        # The bound is for each group that a user is in: a user in a group is what keeps items.
        of = f"{_sized(_USER)} || {items[0].text}"
        pairs = f'SELECT {of} AS "u", {_counted(question, items)} FROM ({pairs}) AS "in_groups"'
    choice = Choice(engine, items, secret)
    clauses = choice.kept(question.items_per_user or LARGEST_BOUND, _counted(question, items), carried)
    return f'{found.before}"pairs" AS MATERIALIZED ({pairs}),\n{clauses}'


@dataclass(frozen=True)
class Pairs:
    """The query for pairs, and the clauses that must stand before it, in whatever statement it is a part of."""

    query: str
    with_: str = ""

    @property
    def clauses(self) -> str:
        """What goes before a statement that has no clauses of its own."""
        return f"{self.with_}\n" if self.with_ else ""

    @property
    def before(self) -> str:
        """What goes before the clauses of a statement."""
        return f"{self.with_},\n" if self.with_ else "WITH "


@dataclass(frozen=True)
class Choice:
    """Which of their pairs users over a bound keep, by a secret."""

    engine: Columnar
    items: tuple[ItemColumn, ...]
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < SECRET_BYTES:
            raise InvalidArgumentError("secret", f"{len(self.secret)} bytes", f"at least {SECRET_BYTES} bytes")

    def kept(self, bound: int, counted: str, carried: str, pairs: str = '"pairs"') -> str:
        """Return the clauses in which `kept` are those of the relation `pairs` that are within the bound.

        `counted` lists what a pair has beside its user, `carried` what is carried along of it.
        """
        bound = min(bound, LARGEST_BOUND)
        thin = thinning(self.engine, counted, self._key, bound, pairs)
        heavy = f'{thin.size} FROM {pairs} GROUP BY "u" HAVING COUNT(*) > {bound}'
        return f"""
{self._ranked(thin, heavy, counted, carried)},
"kept" AS (
    SELECT {carried} FROM {thin.rest} WHERE NOT EXISTS (SELECT 1 FROM "heavy" WHERE "h" = "u")
    UNION ALL
    SELECT {carried} FROM "ranked" WHERE "r" <= {bound}
)""".strip()

    def kept_of_heavy(self, bound: int, counted: str, pairs: str, sizes: str) -> str:
        """Return the clauses in which `kept` are the pairs within the bound of users who have more than that.

        `sizes` is the relation of how many pairs `c` each user `u` has. The others keep all, and are not here.
        """
        thin = thinning(self.engine, counted, self._key, bound, pairs)
        size = ', "c"' if thin.size else ""
        carried = f'"u", {counted}'
        return f"""
{self._ranked(thin, f'{size} FROM "{sizes}" WHERE "c" > {bound}', counted, carried)},
"kept" AS (SELECT {carried} FROM "ranked" WHERE "r" <= {bound})""".strip()

    def _ranked(self, thin: Thinning, heavy: str, counted: str, carried: str) -> str:
        """Return the clauses in which `ranked` are the pairs of heavy users, with their place among the user's."""
        return f"""
"heavy" AS MATERIALIZED (
    SELECT "u" AS "h", {self._prefix} AS "prefix"{heavy}
),{thin.clauses}
"keyed" AS (
    SELECT "u", {counted}, {self._key} AS "k" FROM {thin.rest} JOIN "heavy" ON "u" = "h"{thin.thinned}
),
"ranked" AS (
    SELECT {carried}, COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"
)""".strip()

    def groups(self, most: int, counted: str, pairs: str) -> Pairs:
        """Return those of the pairs of a query that are in at most so many groups of their user."""
        group = self.items[0]
        several = f"COUNT(DISTINCT {group.value}) > {min(most, LARGEST_BOUND)}"
        if most == 1 and group.kind is not ColumnType.BOOLEAN:
            # The same, and quicker; not every engine knows the least of truth values.
            several = f"MIN({group.value}) <> MAX({group.value})"
        key = replace(self, items=(group,))._key
        clauses = f"""
WITH "all_pairs" AS MATERIALIZED ({pairs}),
"in_many" AS MATERIALIZED (
    SELECT "u" AS "h", {self._prefix} AS "prefix" FROM "all_pairs" GROUP BY "u" HAVING {several}
),
"placed" AS MATERIALIZED (
    SELECT "u" AS "p", {group.value} AS "at", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r"
    FROM (
        SELECT DISTINCT "u", {group.value}, {key} AS "k" FROM "all_pairs" JOIN "in_many" ON "u" = "h"
    ) AS "of_many"
)
""".strip()
        in_few = 'WHERE NOT EXISTS (SELECT 1 FROM "in_many" WHERE "h" = "u")'
        kept = f'JOIN "placed" ON "u" = "p" AND {group.value} = "at" WHERE "r" <= {min(most, LARGEST_BOUND)}'
        every = f'SELECT "u", {counted} FROM "all_pairs"'
        return Pairs(f"{every} {in_few} UNION ALL {every} {kept}", clauses)

    @property
    def _prefix(self) -> str:
        """What is hashed before a user's item: the secret and the user, with its length."""
        digits = base64.urlsafe_b64encode(self.secret).decode().rstrip("=")
        return f"'{digits}' || {_sized(_USER)} || ':'"

    @property
    def _key(self) -> str:
        """The key of a pair. Every text but the last carries its length, so that no two are hashed alike."""
        *first, last = self.items
        parts = [_sized(item.text) for item in first]
        encoded = " || ".join(['"prefix"', *parts, last.text])
        if isinstance(self.engine, OwnKey):
            return self.engine.key(encoded)
        return f"LEFT(SHA256({encoded}), {KEY_DIGITS})"


def _sized(text: str) -> str:
    """Return a text with its length before it, so that no two lists of texts are one text."""
    return f"CAST(STRLEN({text}) AS VARCHAR) || ':' || {text}"


def distinct_pairs(
    engine: Engine, user: str, question: CountQuery, items: tuple[ItemColumn, ...], secret: bytes
) -> Pairs:
    """Return the distinct pairs of user `u` and item, with `m` rows each or the amount `a` if that is asked.

    Where groups are asked about, those of a user in more than allowed are left out, by the secret.
    """
    pairs = _all_pairs(engine, user, question, items)
    if question.groups is None:
        return Pairs(pairs)
    return Choice(engine, items, secret).groups(question.groups.per_user, _counted(question, items), pairs)


def _all_pairs(engine: Columnar, user: str, question: CountQuery, items: tuple[ItemColumn, ...]) -> str:
    """Return the query for the distinct pairs of all groups."""
    values = ", ".join(f"{item.read(engine)} AS {item.value}" for item in items)
    amounts = question.amounts
    amount = "" if amounts is None else f", CAST({engine.plain(amounts.column)} AS DOUBLE) AS {_AMOUNT}"
    units = "" if amounts is None else f', {amounts.in_units(_AMOUNT)} AS "x"'
    rows = f'SELECT {engine.whose(user)} AS "u", {values}{amount} FROM "{SOURCE}"'
    flags = "".join(f", {item.flag}" for item in items if item.flag)
    known, *short = users_condition(engine, user)
    conditions = [known, *(f"{item.value} IS NOT NULL" for item in items), *short]
    if texts := [item.value for item in items if item.kind is ColumnType.TEXT]:
        size = " + ".join(f"STRLEN({text})" for text in texts)
        conditions.append(f"{size} <= {min(question.max_label_bytes, LARGEST_BOUND)}")
    keys = keys_of(items)
    named = ", ".join(item.value for item in items)
    good = f'SELECT "u", {named}{flags}{units} FROM ({rows}) AS "rows" WHERE {" AND ".join(conditions)}'
    if amounts is not None:
        added = amounts.added_up('"x"')
        return f'SELECT "u", {keys}, {added} AS "a" FROM ({good}) AS "good" GROUP BY "u", {keys}'
    if question.rows_per_item is None:
        return f'SELECT DISTINCT "u", {keys} FROM ({good}) AS "good"'
    most = min(question.rows_per_item, LARGEST_BOUND)
    return f'SELECT "u", {keys}, LEAST(COUNT(*), {most}) AS "m" FROM ({good}) AS "good" GROUP BY "u", {keys}'


def users_condition(engine: Columnar, user: str) -> list[str]:
    """Return what must hold of a user `u` that counts: there is one, and the name is not too long."""
    conditions = ['"u" IS NOT NULL']
    if engine.columns()[user] in (ColumnType.TEXT, ColumnType.OTHER):
        # Numbers, days and moments are short.
        conditions.append(f'STRLEN(CAST("u" AS VARCHAR)) <= {LONGEST_USER}')
    return conditions


def total_of(question: CountQuery) -> str:
    """Return what adds up the pairs of an item."""
    return "COUNT(*)" if question.count == "users" else 'CAST(SUM("m") AS BIGINT)'
