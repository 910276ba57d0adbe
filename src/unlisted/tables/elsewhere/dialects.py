"""The words of systems that we cannot reach, for the few functions that they say differently.

Three of them: the hexadecimal digits of a text's UTF-8 bytes, the number of those bytes, and the SHA-256. Labels
are counted, ordered and handed over as such digits. So no collation of a column or a database has a say in which
labels are one, and no export can trim, fold or translate them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.dialect import Rule, byte_length

__all__ = ["DIALECTS", "HEX", "Words", "words_of"]

HEX = "UNLISTED_HEX"
"""Said of a text: the hexadecimal digits of its UTF-8 bytes."""

_BYTES_OF_SQL_SERVER = "Latin1_General_100_BIN2_UTF8"
_TEXT_OF_SQL_SERVER = f"CAST(CAST({{}} AS NVARCHAR(MAX)) COLLATE {_BYTES_OF_SQL_SERVER} AS VARCHAR(MAX))"


@dataclass(frozen=True)
class Words:
    """How a system says what the statement needs. Each is a form in which {} stands for a text.

    `text` makes a text of any value, where the usual cast does not do. `grammar` is sqlglot's name for the rest.
    """

    grammar: str
    hex: str
    size: str
    sha256: str
    text: str | None = None
    note: str = ""

    def rule(self) -> Rule:
        """Return what translates a piece of the shared vocabulary."""
        forms = {HEX: self.hex}
        order = _null_order(self.grammar)

        def said(form: str, of: exp.Expr) -> exp.Expr:
            return exp.Var(this=form.format(of.sql(dialect=self.grammar)))

        def rule(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Anonymous) and node.name in forms:
                return said(forms[node.name], node.expressions[0])
            if (text := byte_length(node)) is not None:
                return said(self.size, text)
            if isinstance(node, exp.SHA2):
                return said(self.sha256, node.this)
            if self.text is not None and isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES:
                return said(self.text, node.this)
            if isinstance(node, exp.Least):
                first, second = node.this, node.expressions[0]
                return exp.case().when(exp.LT(this=first, expression=second), first).else_(second)
            if isinstance(node, exp.Ordered):
                # Nothing that is ordered is ever NULL.
                node.set("nulls_first", order[bool(node.args.get("desc"))])
            return node

        return rule


def _null_order(grammar: str) -> tuple[bool, bool]:
    """Return whether a system puts NULL first, going up and going down."""
    known = {"nulls_are_small": (True, False), "nulls_are_large": (False, True), "nulls_are_last": (False, False)}
    return known[str(Dialect.get_or_raise(grammar).NULL_ORDERING)]


_TRINO = Words("trino", "TO_HEX(TO_UTF8({}))", "LENGTH(TO_UTF8({}))", "LOWER(TO_HEX(SHA256(TO_UTF8({}))))")
_SPARK = Words("databricks", "HEX(ENCODE({}, 'UTF-8'))", "OCTET_LENGTH({})", "SHA2({}, 256)")

DIALECTS: Mapping[str, Words] = {
    "athena": _TRINO,
    "bigquery": Words("bigquery", "TO_HEX(CAST({} AS BYTES))", "BYTE_LENGTH({})", "TO_HEX(SHA256({}))"),
    "clickhouse": Words("clickhouse", "HEX({})", "LENGTH({})", "LOWER(HEX(SHA256({})))"),
    "databricks": _SPARK,
    "duckdb": Words("duckdb", "HEX(ENCODE({}))", "STRLEN({})", "SHA256({})"),
    "mysql": Words(
        "mysql",
        "HEX(CONVERT({} USING utf8mb4))",
        "LENGTH(CONVERT({} USING utf8mb4))",
        "SHA2(CONVERT({} USING utf8mb4), 256)",
    ),
    "postgres": Words(
        "postgres",
        "ENCODE(CONVERT_TO({}, 'UTF8'), 'hex') COLLATE \"C\"",
        "OCTET_LENGTH({})",
        "ENCODE(SHA256(CONVERT_TO({}, 'UTF8')), 'hex') COLLATE \"C\"",
    ),
    "redshift": Words("redshift", "TO_HEX(TO_VARBYTE({}, 'utf-8'))", "OCTET_LENGTH({})", "SHA2({}, 256)"),
    "snowflake": Words(
        "snowflake",
        "HEX_ENCODE({})",
        "OCTET_LENGTH({})",
        "SHA2({}, 256)",
        note="Names are taken as they were typed: Snowflake keeps those without quotes in capitals.",
    ),
    "spark": _SPARK,
    "trino": _TRINO,
    "tsql": Words(
        "tsql",
        f"CONVERT(VARCHAR(MAX), CAST({{}} AS VARBINARY(MAX)), 2) COLLATE {_BYTES_OF_SQL_SERVER}",
        "DATALENGTH({})",
        f"CONVERT(VARCHAR(64), HASHBYTES('SHA2_256', {{}}), 2) COLLATE {_BYTES_OF_SQL_SERVER}",
        text=_TEXT_OF_SQL_SERVER,
        note="It needs SQL Server 2019 or later, or Azure SQL.",
    ),
}
"""Every system that a statement can be printed for, by the name that is typed."""


def words_of(dialect: object) -> Words:
    """Return the words of a system, or say which systems there are."""
    if not isinstance(dialect, str) or dialect.lower() not in DIALECTS:
        hint = "Of a system that is not listed, bring counts with the bounds that you can vouch for: ul.counts(…)."
        raise InvalidArgumentError("dialect", dialect, f"one of {', '.join(DIALECTS)}", hint)
    return DIALECTS[dialect.lower()]
