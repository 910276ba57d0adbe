"""Hostile values as Spark's SQL writes them: a string of Spark is any bytes."""

from __future__ import annotations

from tests.hostile.cells import HUGE, TEXTS, TOO_LONG, UNDECODABLE, Cell, Kind
from tests.hostile.sql_cells import (
    DAYS,
    FLOATS,
    LETTERS,
    MISSING,
    NOTHING,
    NUMBERS,
    ZERO,
    kind,
    named,
    nothing,
    same,
)


def _hex(raw: bytes) -> str:
    return f"CAST(X'{raw.hex()}' AS STRING)"


def _spark(text: str) -> str:
    return _hex(text.encode())


KINDS = named(
    Kind(
        "STRING",
        "text",
        "STRING",
        LETTERS,
        (
            *(Cell(name, _spark(text), text) for name, text in {**TEXTS, "NUL": "zz\0zz"}.items()),
            *(Cell(name, _hex(raw), NOTHING) for name, raw in UNDECODABLE.items()),
            *(Cell(name, _hex(raw), too_long=True) for name, raw in TOO_LONG.items()),
            Cell("ten megabytes", f"REPEAT('h', {len(HUGE)})", too_long=True),
            MISSING,
        ),
    ),
    kind("STRING COLLATE UTF8_LCASE", "text", LETTERS, {}, same("cases", "'zz'", "'ZZ'"), name="any case"),
    kind(
        "STRING COLLATE UNICODE_RTRIM", "text", LETTERS, {}, same("blanks", "'zz'", "'zz '"), name="blanks behind"
    ),
    kind("DOUBLE", "number", NUMBERS, FLOATS, *nothing(NaN="'NaN'"), ZERO),
    kind("FLOAT", "number", NUMBERS, FLOATS, *nothing(NaN="'NaN'"), ZERO),
    kind("BIGINT", "int", NUMBERS, {"the most": str(2**63 - 1), "the least": str(-(2**63)), "0": "0"}),
    kind("TINYINT", "int", NUMBERS, {"the most": "127", "the least": "-128", "0": "0"}),
    kind("DECIMAL(38, 0)", "number", NUMBERS, {"nines": "9" * 38, "0": "0"}),
    kind("DECIMAL(38, 38)", "number", [f"0.{n}" for n in range(1, 8)], {"nines": f"0.{'9' * 38}"}),
    kind(
        "DATE",
        "date",
        DAYS,
        {"first": "'0001-01-01'"},
        *nothing(
            year_10000="DATE_ADD(DATE'9999-12-31', 1)",
            year_0="'0000-01-01'",
            far="DATE_ADD(DATE'1970-01-01', 2147483647)",
            before="DATE_ADD(DATE'1970-01-01', -2147483648)",
        ),
    ),
    kind(
        "TIMESTAMP_NTZ",
        "timestamp",
        DAYS,
        {},
        *nothing(
            year_10000="TIMESTAMP_NTZ'+10000-01-01 00:00:00'",
            far="TIMESTAMP_NTZ'+294247-01-10 04:00:54.775807'",
            before="TIMESTAMP_NTZ'-290308-12-21 19:59:06'",
        ),
    ),
    kind("TIMESTAMP", "other", DAYS, {}, *nothing(far="TIMESTAMP_MICROS(9223372036854775807)")),
    kind("BINARY", "other", [f"X'0{n}'" for n in range(7)], {"empty": "X''", "no text": "X'FF00'"}),
    kind("BOOLEAN", "bool", ("true", "false"), {}),
    kind(
        "ARRAY<DOUBLE>",
        "other",
        [f"ARRAY({n})" for n in range(7)],
        {"NaN": "ARRAY(CAST('NaN' AS DOUBLE))", "null": "ARRAY(NULL)"},
    ),
    kind("STRUCT<a: DOUBLE>", "other", [f"STRUCT({n})" for n in range(7)], {"null": "STRUCT(NULL)"}),
    kind("MAP<STRING, INT>", "other", [f"MAP('k', {n})" for n in range(7)], {"null": "MAP('k', NULL)"}),
    kind(
        "INTERVAL YEAR TO MONTH",
        "other",
        [f"INTERVAL '{n}' MONTH" for n in range(7)],
        {"long": "INTERVAL '178956970' YEAR"},
    ),
    kind("VARIANT", "other", [f"PARSE_JSON('{n}')" for n in range(7)], {"null": "PARSE_JSON('null')"}),
)
