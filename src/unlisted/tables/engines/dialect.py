"""The shared statements in the words of another engine: parsed by sqlglot, renamed, and written again.

The embedded engine speaks the shared dialect itself and never comes here, so that it starts without a parser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from sqlglot import exp, parse_one

from unlisted.tables.engines.engine import SOURCE, Engine, Rows, name_for_whose

__all__ = [
    "SHARED",
    "Rule",
    "Translating",
    "byte_length",
    "is_wide",
    "local_time",
    "passing",
    "quoted",
    "subquery",
    "tables_of",
    "told_local",
    "translated",
    "within_calendar",
]

SHARED = "duckdb"
"""What the shared dialect is called here."""

_FIRST_AND_LAST = {
    "DATE": ("0001-01-01", "9999-12-31"),
    "TIMESTAMP": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    "TIMESTAMPTZ": ("0001-01-01 00:00:00+00:00", "9999-12-31 23:59:59.999999+00:00"),
}

Rule = Callable[[exp.Expr], exp.Expr]
"""Takes a node whose parts are already translated and returns what stands for it, often the node itself."""


def translated(
    query: str, dialect: str, relations: Mapping[str, exp.Expr], rule: Rule, *, pretty: bool = False
) -> str:
    """Say a query of the shared dialect in another one, on one line unless it is for people to read.

    `relations` maps the name of a table to what stands for it. What is put in its place keeps the name as its
    alias, so that columns which say where they come from still find it.
    """
    tree = parse_one(query, read=SHARED)
    for table in list(tree.find_all(exp.Table)):
        # A name with a schema in front is no name that the shared statements make.
        if table.name in relations and not table.db:
            table.replace(_called(relations[table.name].copy(), table.alias_or_name))
    # From the leaves up, so that a rule meets parts that are already translated.
    for node in reversed(list(tree.walk())):
        if (said := rule(node)) is not node:
            node.replace(said)
    written: str = tree.sql(dialect=dialect, pretty=pretty)
    return written


def tables_of(query: str) -> frozenset[str]:
    """Return the names of all tables that a query of the shared dialect reads."""
    return frozenset(table.name for table in parse_one(query, read=SHARED).find_all(exp.Table))


class Translating(Engine, Protocol):
    """An engine whose statements are translated."""

    def seen(self, column: str) -> str:
        """Return a column as a predicate sees it: as it is counted, or, if it is no item, as it is.

        Of what is no item a predicate only asks whether there is a value.
        """


def passing(engine: Translating, rows: Rows, source: exp.Expr, dialect: str, rule: Rule) -> exp.Expr:
    """Return what stands for the asked rows of a source: the source itself, or those of its rows that pass."""
    if rows.where is None and not rows.computed:
        return source
    columns = [f"{engine.seen(name)} AS {quoted(name)}" for name in rows.read]
    # It does not see who is one user: `lower(name)` may be that, while the predicate asks for names.
    kept_as = {name: name for name in rows.columns}
    if rows.user is not None:
        whose, same = engine.whose(rows.user), {engine.plain(rows.user)}
        # What is no item is named as it is, and may be asked whose it is afterwards.
        if whose not in (same if engine.columns()[rows.user].is_plain else {*same, quoted(rows.user)}):
            kept_as[rows.user] = name_for_whose(rows)
            columns.append(f"{whose} AS {quoted(kept_as[rows.user])}")
    query = f"SELECT {', '.join(columns)} FROM {quoted(SOURCE)}"  # noqa: S608 - names are quoted
    named = translated(query, dialect, {SOURCE: source}, rule)
    computed = [exp.alias_(exp.Var(this=value.sql(dialect)), name, quoted=True) for name, value in rows.computed]
    kept = exp.select(*(_kept(inside, name) for name, inside in kept_as.items()), *computed)
    said = kept.from_(subquery(named, "named")).sql(dialect=dialect)
    return subquery(said if rows.where is None else f"{said} WHERE {rows.where.sql(dialect)}")


def subquery(written: str, alias: str | None = None) -> exp.Expr:
    """Let a query that is already in the engine's words stand where a table stands, unread and unchanged."""
    named = exp.Subquery(this=exp.Var(this=written))
    return _called(named, alias) if alias else named


def quoted(name: str) -> str:
    """Return a name as the shared dialect writes it."""
    return '"{}"'.format(name.replace('"', '""'))


def within_calendar(expression: str, word: str) -> str:
    """Return a date or timestamp, and NULL for one that readers outside the engine cannot hold.

    `word` is its type in the shared dialect: DATE, TIMESTAMP or TIMESTAMPTZ. Engines know infinite dates and years
    before 1 and after 9999; Python, and most that read our answers, do not.
    """
    first, last = (f"CAST('{bound}' AS {word})" for bound in _FIRST_AND_LAST[word])
    return f"CASE WHEN {expression} BETWEEN {first} AND {last} THEN {expression} END"


LOCAL_TIME = "UNLISTED_LOCAL_TIME"
"""Said of a moment with a time zone and the name of another one: what clocks say there."""


def local_time(expression: str, zone: str) -> str:
    """Return what clocks in a zone say at a moment; NULL where readers outside the engine could not hold it."""
    # A day less at both ends: no zone is further away than that.
    first, last = (f"CAST('{day} 00:00:00+00' AS TIMESTAMPTZ)" for day in ("0001-01-02", "9999-12-31"))
    told = f"{LOCAL_TIME}('{zone}', {expression})"
    return f"CASE WHEN {expression} >= {first} AND {expression} < {last} THEN {told} END"


def told_local(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the zone and the moment whose local time a node is, or None if it is anything else."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == LOCAL_TIME:
        zone, moment = node.expressions
        return zone, moment
    return None


def byte_length(node: exp.Expr) -> exp.Expr | None:
    """Return what `STRLEN(...)` is asked of, or None if the node is anything else."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "STRLEN":
        argument: exp.Expr = node.expressions[0]
        return argument
    return None


def is_wide(node: exp.Expr) -> bool:
    """Return whether a node is the type of whole numbers of up to 38 digits."""
    return isinstance(node, exp.DataType) and node.this is exp.DataType.Type.INT128


def _kept(inside: str, name: str) -> exp.Expr:
    column = exp.column(inside, quoted=True)
    return column if inside == name else exp.alias_(column, name, quoted=True)


def _called(relation: exp.Expr, alias: str) -> exp.Expr:
    relation.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return relation
