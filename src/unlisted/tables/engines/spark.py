"""A Spark data frame, in the cluster that holds it.

A frame is a recipe, and following it twice need not give the same rows: files change, and a column may be random.
So a world follows it once, and a statement that would follow it again is an error, never another answer. What
statements read more than once is computed and cut off from its recipe (a local checkpoint), on two machines each
piece: one may be lost, and the answer still comes. If both copies are lost, that is an error. Nothing of the
session changes but temporary views, whose names no one else has, and which go away again.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa
from sqlglot import exp, parse_one

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.dialect import (
    SHARED,
    byte_length,
    is_wide,
    local_time,
    passing,
    quoted,
    tables_of,
    told_local,
    translated,
    within_calendar,
)
from unlisted.tables.engines.engine import SOURCE, Rows, no_user
from unlisted.tables.versions import parts

__all__ = ["SparkEngine"]

ALLOWED_SOURCE = "a Spark 4 data frame with finitely many rows and columns of different names"
BYTE_ORDER = "UTF8_BINARY"

COPIED = "giant"
"""The relation of the statements that is small whatever the rows are: each machine gets a copy."""

LOWEST_VERSION = "4.0"
"""Spark 3 knows no collations, no IS_VALID_UTF8, and no way to hand an answer over as Arrow."""

_KINDS = {
    **dict.fromkeys(("ByteType", "ShortType", "IntegerType", "LongType"), ColumnType.INTEGER),
    **dict.fromkeys(("FloatType", "DoubleType"), ColumnType.FLOAT),
    **dict.fromkeys(("StringType", "CharType", "VarcharType"), ColumnType.TEXT),
    "DecimalType": ColumnType.DECIMAL,
    "BooleanType": ColumnType.BOOLEAN,
    "DateType": ColumnType.DATE,
    "TimestampNTZType": ColumnType.TIMESTAMP,
    "TimestampType": ColumnType.INSTANT,
}
# What is no item but can still be a user: values that Spark can group and join by.
_USERS = frozenset({"BinaryType"})


class SparkEngine:
    """A data frame of Spark 4 or later, of a session in this process or of a remote one. It is an `Engine`."""

    name = "spark"
    giant = 100_000

    def __init__(self, frame: Any, timezone: str | None = None, *, has_rows: bool = True) -> None:
        self._frame = frame
        self._zone = timezone
        self._has_rows = has_rows

    @cached_property
    def _types(self) -> Mapping[str, Any]:
        """The columns with Spark's types; Spark knows them without reading a row."""
        _require_version(self._frame.sparkSession.version)
        fields = self._frame.schema.fields
        names = {field.name.casefold() for field in fields}
        if self._frame.isStreaming:
            hint = "A streaming frame never ends; count what it has written so far."
            raise InvalidArgumentError("source", "a streaming frame", ALLOWED_SOURCE, hint)
        if len(names) < len(fields):
            hint = "Some names differ in nothing but case, or not at all: rename them with withColumnRenamed."
            raise InvalidArgumentError("source", "a Spark data frame", ALLOWED_SOURCE, hint)
        return {field.name: field.dataType for field in fields}

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns from the frame's schema."""
        found = {name: _KINDS.get(type(kind).__name__, ColumnType.OTHER) for name, kind in self._types.items()}
        local = ColumnType.TIMESTAMP if self._zone else ColumnType.INSTANT
        return {name: local if kind is ColumnType.INSTANT else kind for name, kind in found.items()}

    def _is_local(self, column: str) -> bool:
        """Return whether a column holds moments that are counted by the clocks of a zone."""
        return self._zone is not None and self._is_moment(column)

    def plain(self, column: str) -> str:
        """Return a column as a value that compares by its bytes."""
        name, kind = quoted(column), self.columns()[column]
        match kind:
            case ColumnType.TEXT:
                # Spark keeps any bytes as a string; those that are no text could not be carried out.
                return f'CASE WHEN IS_VALID_UTF8({name}) THEN {name} END COLLATE "{BYTE_ORDER}"'
            case ColumnType.FLOAT:
                return f"NULLIF({name}, CAST('NaN' AS DOUBLE))"
            case ColumnType.TIMESTAMP if self._is_local(column):
                return local_time(name, self._zone or "")
            case ColumnType.DATE | ColumnType.TIMESTAMP:
                return within_calendar(name, kind.name)
        return within_calendar(name, "TIMESTAMPTZ") if self._is_moment(column) else name

    def seen(self, column: str) -> str:
        """Return a column as a predicate sees it."""
        return self.plain(column)

    def _is_moment(self, column: str) -> bool:
        """Return whether a column holds timestamps with a time zone, users only if no zone is said."""
        return type(self._types[column]).__name__ == "TimestampType"

    def whose(self, column: str) -> str:
        """Return a column as a user: one value for one person."""
        kind, native = self.columns()[column], self._types[column]
        if kind is ColumnType.TEXT and getattr(native, "collation", BYTE_ORDER) != BYTE_ORDER:
            hint = (
                "Its collation treats different texts as the same, and Spark does not say in which form. Name one "
                f"in the frame: lower({column}) COLLATE {BYTE_ORDER} if case is all that differs."
            )
            raise no_user(column, hint)
        if kind is ColumnType.TEXT and type(native).__name__ == "CharType":
            # Spark compares such texts as if blanks were added to the shorter one.
            return f"RTRIM({self.plain(column)}, ' ')"
        if kind is ColumnType.FLOAT:
            return f"CASE WHEN {quoted(column)} = 0 THEN 0 ELSE {self.plain(column)} END"
        if kind is ColumnType.OTHER and type(native).__name__ not in _USERS:
            raise no_user(column, "Make it text or a number in the frame, in one form for each person.")
        # One moment is one user, whatever clocks say: in autumn they say the same twice.
        return within_calendar(quoted(column), "TIMESTAMPTZ") if self._is_local(column) else self.plain(column)

    def state(self) -> Hashable:
        """Return nothing: a frame is followed once."""
        return None

    def statement(self, query: str, rows: Rows) -> str:
        """Say a query in Spark's words, the frame being a view of the source's name."""
        steps, rest = steps_of(query)
        relations = {SOURCE: self._passing(rows, exp.table_(SOURCE, quoted=True))}
        kept = {name: "CREATE TEMPORARY VIEW" if name == COPIED else "CACHE TABLE" for name, _ in steps}
        said = [f"{kept[name]} `{name}` AS {translated(step, 'spark', relations, _rule)}" for name, step in steps]
        return ";\n".join([*said, translated(rest, "spark", relations, _rule)])

    @contextmanager
    def world(self, rows: Rows) -> Iterator[_World]:
        """Let one statement read the frame, and all of them what was computed from it."""
        with ExitStack() as views:
            world = _World(self._frame.sparkSession, views, has_rows=self._has_rows)
            world.relations[SOURCE] = self._passing(rows, world.view("frame", self._frame))
            yield world

    def rehearsal(self) -> SparkEngine:
        """Return the same frame without its rows, which Spark knows before it starts any work."""
        return SparkEngine(self._frame.where("FALSE"), self._zone, has_rows=False)

    def signature(self) -> Hashable | None:
        """Return nothing: the session's settings, which anybody may change, have a part in what works."""
        return None

    def _passing(self, rows: Rows, frame: exp.Expr) -> exp.Expr:
        return passing(self, rows, frame, "spark", _rule)


class _World:
    """Computed frames behind views that last as long as the world."""

    def __init__(self, session: Any, views: ExitStack, *, has_rows: bool = True) -> None:
        self.relations: dict[str, exp.Expr] = {}
        self._has_rows = has_rows
        self._session = session
        self._views = views
        self._source_was_read = False

    def keep(self, name: str, query: str) -> None:
        """Compute a query once."""
        self.relations[name] = self.view(name, self._computed(self._run(query)))

    def lend(self, name: str, rows: pa.Table) -> None:
        """Send a few whole numbers into the session, to every machine: a join need not move what it meets."""
        self.relations[name] = self.view(name, self._session.createDataFrame(rows).hint("broadcast"))

    def answer(self, query: str) -> pa.Table:
        """Run a query and bring its rows out."""
        return self._run(query).toArrow()

    def view(self, name: str, frame: Any) -> exp.Expr:
        """Let statements read a frame."""
        # Other worlds can be open in the session at the same time.
        view = f"unlisted_{name}_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(view)
        self._views.callback(self._session.catalog.dropTempView, view)
        return exp.table_(view, quoted=True)

    def _run(self, query: str) -> Any:
        relations = dict(self.relations)
        steps, rest = steps_of(query)
        for name, step in steps:
            frame = self._frame(step, relations)
            relations[name] = self.view(name, _pruned(frame) if name == COPIED else self._computed(frame))
        return self._frame(rest, relations)

    def _computed(self, frame: Any) -> Any:
        """Compute a frame now, and keep two copies of it where there are two machines.

        Without rows there is nothing to compute: Spark has checked the statement, and its columns stand for it.
        """
        if not self._has_rows:
            return self._session.createDataFrame([], frame.schema).limit(0)
        from pyspark.storagelevel import StorageLevel  # noqa: PLC0415 - only where Spark is used

        # In one process a second copy cannot be had, and Spark would say so for every piece.
        copies = 1 if self._session.conf.get("spark.master", "").partition("[")[0] == "local" else 2
        level = StorageLevel.MEMORY_AND_DISK if copies == 1 else StorageLevel.MEMORY_AND_DISK_2
        return frame.localCheckpoint(storageLevel=level)

    def _frame(self, query: str, relations: Mapping[str, exp.Expr]) -> Any:
        if SOURCE in tables_of(query):
            if self._source_was_read:
                raise RuntimeError("A frame is read once in a snapshot; keep what is needed again.")
            self._source_was_read = True
        return self._session.sql(translated(query, "spark", relations, _rule))


def _require_version(version: str) -> None:
    """Refuse a frame of a Spark that lacks what the statements use; of a remote session it is the server's."""
    if parts(version) < parts(LOWEST_VERSION):
        hint = f"Read the data with Spark {LOWEST_VERSION} or later, or write it to Parquet and name those files."
        raise InvalidArgumentError("source", f"a frame of Spark {version}", ALLOWED_SOURCE, hint)


def _pruned(frame: Any) -> Any:
    """Say of a frame that has no rows that it has none: Spark then leaves out of a plan whatever hangs on it."""
    return frame.limit(0) if frame.isEmpty() else frame


def steps_of(query: str) -> tuple[list[tuple[str, str]], str]:
    """Take out of a query what it wants computed once, in order; Spark itself has no word for it."""
    tree = parse_one(query, read=SHARED)
    steps = []
    for clause in list(tree.find_all(exp.With)):
        for part in list(clause.expressions):
            if part.args.get("materialized"):
                steps.append((part.alias, part.this.sql(dialect=SHARED)))
                part.pop()
        if not clause.expressions:
            clause.pop()
    return steps, tree.sql(dialect=SHARED)


def _rule(node: exp.Expr) -> exp.Expr:
    """Say one piece of the shared vocabulary in Spark's words."""
    if (text := byte_length(node)) is not None:
        return exp.func("OCTET_LENGTH", text)
    if is_wide(node):
        return exp.DataType.build("DECIMAL(38, 0)")
    if (told := told_local(node)) is not None:
        return _local_time(*told)
    if isinstance(node, exp.Select) and any(table.alias_or_name == COPIED for table in _read_directly(node)):
        # Without the hint both sides of the join would be sent to where their users are: all of a giant to one.
        node.set("hint", exp.Hint(expressions=[exp.func("BROADCAST", exp.to_identifier(COPIED, quoted=True))]))
    return node


def _local_time(zone: exp.Expr, moment: exp.Expr) -> exp.Expr:
    """Say what clocks in a zone say, by way of microseconds: else the session's own zone would come into it."""
    micros = f"UNIX_MICROS({moment.sql(dialect='spark')})"
    since = f"MAKE_DT_INTERVAL(0, 0, 0, CAST({micros} AS DECIMAL(38, 6)) / 1000000)"
    in_utc = f"CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ) + {since}"
    return exp.Var(this=f"CONVERT_TIMEZONE('UTC', {zone.sql(dialect='spark')}, {in_utc})")


def _read_directly(query: exp.Select) -> list[exp.Expr]:
    """Return the tables that a query itself reads, not those of the queries in it."""
    joined = [join.this for join in query.args.get("joins") or []]
    return [table for table in (query.args["from_"].this, *joined) if isinstance(table, exp.Table)]
