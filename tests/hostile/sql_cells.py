"""Hostile values as SQL writes them: what the databases can hold and Arrow's arrays cannot, or not in that way.

A cell is a literal. `typed` is the column's type in the database. Users who are equal to the database are one
person however they are spelt: `again`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.hostile.cells import HUGE, TEXTS, TOO_LONG, UNDECODABLE, Cell, Kind, Leaves

NOTHING = Leaves.NOTHING
MISSING = Cell("NULL", "NULL", NOTHING)
NUMBERS = ("1", "2", "3", "4", "5", "6", "7")
DAYS = tuple(f"'2020-0{n}-01'" for n in range(1, 8))
LETTERS = ("'a'", "'b'", "'c'", "'d'", "'ab'", "'bc'", "'cd'")


def literal(text: str) -> str:
    """A text as standard SQL quotes it."""
    return "'" + text.replace("'", "''") + "'"


def texts() -> list[Cell]:
    """Texts that every database can hold."""
    plain = [Cell(name, literal(text), text) for name, text in TEXTS.items()]
    long = [Cell(name, literal(raw.decode()), too_long=True) for name, raw in TOO_LONG.items()]
    return [*plain, *long, Cell("ten megabytes", f"REPEAT('h', {len(HUGE)})", too_long=True), MISSING]


def kind(
    typed: str, word: str, calm: Iterable[str], cells: Mapping[str, str], *more: Cell, name: str = ""
) -> Kind:
    """A kind whose cells are compared by how many they change only."""
    simple = (Cell(said, value) for said, value in cells.items())
    return Kind(name or typed, word, typed, tuple(calm), (*simple, *more, MISSING))


def nothing(**cells: str) -> tuple[Cell, ...]:
    """Cells that are no value."""
    return tuple(Cell(name.replace("_", " "), value, NOTHING) for name, value in cells.items())


def same(name: str, value: str, *again: str) -> Cell:
    """One user in several spellings."""
    return Cell(name, value, again=again)


def named(*kinds: Kind) -> dict[str, Kind]:
    return {kind.name: kind for kind in kinds}


_NAN = nothing(NaN="'NaN'", minus_NaN="'-NaN'")
FLOATS = {"infinity": "'infinity'", "minus infinity": "'-infinity'", "the smallest": "'1e-45'"}
ZERO = same("zero in two ways", "'0'", "'-0'")

POSTGRES = named(
    Kind("text", "text", "text", LETTERS, tuple(texts())),
    Kind("varchar", "text", "varchar(10485760)", LETTERS, tuple(texts())),
    kind(
        "bpchar",
        "text",
        LETTERS,
        {"blanks": "'  '"},
        same("blanks behind", "'zz'", "'zz  '", "'zz '"),
        name="bpchar",
    ),
    kind("double precision", "number", NUMBERS, {**FLOATS, "the largest": "'1.7e308'"}, *_NAN[:1], ZERO),
    kind("real", "number", NUMBERS, FLOATS, *_NAN[:1], ZERO),
    kind("bigint", "int", NUMBERS, {"2^63-1": "9223372036854775807", "-2^63": "(-9223372036854775808)", "0": "0"}),
    kind("smallint", "int", NUMBERS, {"the most": "32767", "the least": "(-32768)", "0": "0"}),
    kind(
        "numeric",
        "number",
        NUMBERS,
        {
            "infinity": "'Infinity'",
            "131072 digits": "('9' || repeat('0', 131071))::numeric",
            "16383 after the point": "('0.' || repeat('0', 16382) || '1')::numeric",
            "76 digits": "9" * 76,
            "0": "0",
        },
        *_NAN[:1],
        same("zeros behind", "8.0", "8.00", "8"),
    ),
    kind("numeric(38, 10)", "number", NUMBERS, {"nines": f"{'9' * 28}.{'9' * 10}", "0": "0"}, *_NAN[:1]),
    kind("numeric(5, -2)", "number", ("100", "200", "300", "400", "500", "600"), {"nines": "9999900", "0": "0"}),
    kind("numeric(50, 45)", "number", NUMBERS, {"nines": f"99999.{'9' * 45}"}, *_NAN[:1]),
    kind(
        "date",
        "date",
        DAYS,
        {"first": "'0001-01-01'", "last": "'9999-12-31'"},
        *nothing(
            infinity="'infinity'",
            minus_infinity="'-infinity'",
            last_of_all="'5874897-12-31'",
            first_of_all="'4713-01-01 BC'",
            year_10000="'10000-01-01'",
            before_Christ="'0001-12-31 BC'",
        ),
    ),
    kind(
        "timestamp",
        "timestamp",
        DAYS,
        {"last": "'9999-12-31 23:59:59.999999'"},
        *nothing(
            infinity="'infinity'",
            minus_infinity="'-infinity'",
            last_of_all="'294276-12-31 23:59:59.999999'",
            first_of_all="'4713-01-01 00:00:00 BC'",
            year_10000="'10000-01-01'",
        ),
    ),
    kind(
        "timestamptz",
        "other",
        DAYS,
        {},
        *nothing(infinity="'infinity'", last_of_all="'294276-12-31'", before_Christ="'0001-12-31 00:00+00 BC'"),
        same("zones", "'2021-01-01 00:00+00'", "'2021-01-01 05:00+05'"),
    ),
    kind(
        "interval",
        "other",
        [f"'{n} days'" for n in range(1, 8)],
        {"infinity": "'infinity'", "long": "'178000000 years'"},
        same("ten days", "'10 days'", "'240 hours'", "'5 days 120 hours'"),
    ),
    kind("time", "other", [f"'0{n}:00'" for n in range(1, 8)], {"midnight": "'24:00'"}),
    kind("timetz", "other", [f"'0{n}:00+00'" for n in range(1, 8)], {"midnight": "'24:00+15:59'"}),
    kind("bytea", "other", [rf"'\x0{n}'" for n in range(1, 8)], {"empty": "''", "no text": r"'\xff00'"}),
    kind(
        "jsonb",
        "other",
        [f"'{n}'" for n in range(1, 8)],
        {
            "same key": '\'{"a":1,"a":2}\'',
            "nested nulls": "'[null,{\"a\":null}]'",
            "deep": "(repeat('[', 3000) || repeat(']', 3000))::jsonb",
        },
        same("numbers", "'10.0'", "'10'", "'10.00'"),
    ),
    kind(
        "json",
        "other",
        [f"'{n}'" for n in range(1, 8)],
        {
            "same key": '\'{"a":1,"a":2}\'',
            "half a pair": "'\"\\ud83d\"'",
            "NUL": "'\"\\u0000\"'",
            "deep": "(repeat('[', 3000) || repeat(']', 3000))::json",
        },
    ),
    kind(
        "text[]",
        "other",
        [f"'{{{n}}}'" for n in range(1, 8)],
        {
            "nested nulls": "'{NULL,a,NULL}'",
            "empty": "'{}'",
            "bounds": "'[-5:-4]={1,2}'",
            "quotes": "ARRAY['a,b', 'c\"d']",
        },
    ),
    kind(
        "numeric[]",
        "other",
        [f"'{{{n}}}'" for n in range(1, 8)],
        {"NaN": "'{NaN}'"},
        same("zeros", "'{8.0}'", "'{8}'"),
    ),
    kind("boolean", "bool", ("true", "false"), {}),
    kind(
        "uuid",
        "text",
        [f"'00000000-0000-0000-0000-00000000000{n}'" for n in range(7)],
        {"ones": "'ffffffff-ffff-ffff-ffff-ffffffffffff'"},
        same("cases", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'a0eebc999c0b4ef8bb6d6bb9bd380a11'"),
    ),
    kind(
        "inet",
        "other",
        [f"'10.0.0.{n}'" for n in range(7)],
        {"all": "'::/0'"},
        same("one host", "'1.2.3.4'", "'1.2.3.4/32'"),
    ),
    kind("money", "other", NUMBERS, {"the most": "'92233720368547758.07'"}),
    kind(
        "int4range",
        "other",
        [f"'[{n},9)'" for n in range(7)],
        {"empty": "'empty'", "all": "'(,)'"},
        same("bounds", "'[1,5]'", "'[1,6)'", "'(0,6)'"),
    ),
    kind("tsvector", "other", [f"'w{n}'" for n in range(7)], {"empty": "''"}),
    kind("bit(4)", "other", [f"B'0{n:03b}'" for n in range(7)], {"ones": "B'1111'"}),
    kind("point", "other", [f"'({n},0)'" for n in range(7)], {"NaN": "'(NaN,infinity)'"}),
    kind("oid", "other", NUMBERS, {"the most": "4294967295"}),
    kind('"char"', "text", (*LETTERS[:4], "'e'", "'f'"), {"high": "'\\377'", "empty": "''"}, name="one byte"),
    kind("name", "text", LETTERS, {"cut": literal("x" * 63)}),
    kind("hue", "text", LETTERS, {}, name="enum"),
    kind("whole", "int", NUMBERS, {"0": "0"}, name="domain"),
)

DUCKDB = named(
    Kind("VARCHAR", "text", "VARCHAR", LETTERS, (*texts(), Cell("NUL", "'zz' || chr(0) || 'zz'", "zz\0zz"))),
    kind("VARCHAR COLLATE NOCASE", "text", LETTERS, {}, same("cases", "'zz'", "'ZZ'"), name="NOCASE"),
    kind("VARCHAR COLLATE NOACCENT", "text", LETTERS, {}, same("accents", "'zzé'", "'zze'"), name="NOACCENT"),
    kind("DOUBLE", "number", NUMBERS, {**FLOATS, "the largest": "1.7e308"}, *_NAN, ZERO),
    kind("FLOAT", "number", NUMBERS, FLOATS, *_NAN, ZERO),
    kind(
        "HUGEINT",
        "int",
        NUMBERS,
        {"the most": str(2**127 - 1), "the least": f"({-(2**127)})", "2^63": str(2**63), "0": "0"},
    ),
    kind("UHUGEINT", "other", NUMBERS, {"the most": str(2**128 - 1), "0": "0"}),
    kind("UBIGINT", "int", NUMBERS, {"the most": str(2**64 - 1), "0": "0"}),
    kind("BIGNUM", "other", NUMBERS, {"many digits": f"'{'9' * 300}'"}),
    kind("DECIMAL(38, 0)", "number", NUMBERS, {"nines": "9" * 38, "minus nines": f"-{'9' * 38}", "0": "0"}),
    kind("DECIMAL(38, 37)", "number", NUMBERS, {"nines": f"9.{'9' * 37}"}),
    kind(
        "DATE",
        "date",
        [f"{day}" for day in DAYS],
        {},
        *nothing(
            infinity="'infinity'",
            minus_infinity="'-infinity'",
            last_of_all="'5881580-07-10'",
            first_of_all="'5877642-06-25 (BC)'",
            year_10000="'10000-01-01'",
        ),
    ),
    kind(
        "TIMESTAMP",
        "timestamp",
        DAYS,
        {},
        *nothing(
            infinity="'infinity'",
            minus_infinity="'-infinity'",
            last_of_all="'294247-01-10 04:00:54.775806'",
            first_of_all="'290309-12-22 (BC) 00:00:00'",
        ),
    ),
    kind("TIMESTAMP_S", "timestamp", DAYS, {}, *nothing(infinity="'infinity'", year_10000="'10000-01-01'")),
    kind("TIMESTAMP_MS", "timestamp", DAYS, {}, *nothing(infinity="'infinity'", year_10000="'10000-01-01'")),
    kind(
        "TIMESTAMP_NS",
        "timestamp",
        DAYS,
        {"infinity": "'infinity'", "last": "'2262-04-11 23:47:16.854775806'", "first": "'1677-09-22 00:00:00'"},
    ),
    kind(
        "TIMESTAMPTZ",
        "other",
        DAYS,
        {"infinity": "'infinity'"},
        same("zones", "'2021-01-01 00:00+00'", "'2021-01-01 05:00+05'"),
    ),
    kind(
        "INTERVAL",
        "other",
        [f"'{n} days'" for n in range(1, 8)],
        {"long": "'2147483647 days'"},
        same("a month", "'1 month'", "'30 days'", "'720 hours'"),
    ),
    kind("TIME", "other", [f"'0{n}:00'" for n in range(1, 8)], {"midnight": "'24:00:00'"}),
    kind("TIMETZ", "other", [f"'0{n}:00:00+00'" for n in range(1, 8)], {"another zone": "'13:00:00+01'"}),
    kind("BLOB", "other", LETTERS, {"empty": "''", "no text": r"'\xFF\x00'"}),
    kind(
        "BIT", "other", [f"'0{n:03b}'" for n in range(7)], {"ones": "'1111111111'"}, same("widths", "'1'", "'01'")
    ),
    kind(
        "JSON",
        "text",
        NUMBERS,
        {
            "deep": "(REPEAT('[', 900) || REPEAT(']', 900))",
            "same key": '\'{"a":1,"a":2}\'',
            "a pair": "'\"\\ud83d\\ude00\"'",
        },
        Cell("blanks", "'[1, 2]'"),
    ),
    kind(
        "VARCHAR[]", "other", [f"['{n}']" for n in range(7)], {"nested nulls": "[NULL, 'a', NULL]", "empty": "[]"}
    ),
    kind(
        "DOUBLE[]",
        "other",
        [f"[{n}]" for n in range(1, 8)],
        {"NaN": "['NaN'::DOUBLE]"},
        same("zeros", "[0.0]", "[-0.0::DOUBLE]"),
    ),
    kind(
        "STRUCT(a DOUBLE, b VARCHAR)",
        "other",
        [f"{{'a': {n}, 'b': 'b'}}" for n in range(7)],
        {"nulls": "{'a': NULL, 'b': NULL}", "NaN": "{'a': 'NaN', 'b': NULL}"},
        name="STRUCT",
    ),
    kind(
        "MAP(VARCHAR, INTEGER)",
        "other",
        [f"MAP {{'k': {n}}}" for n in range(7)],
        {"null": "MAP {'k': NULL}"},
        name="MAP",
    ),
    kind("UNION(n INTEGER, t VARCHAR)", "other", NUMBERS, {"text": "'zz'"}, name="UNION"),
    kind("VARCHAR[1]", "other", [f"['{n}']" for n in range(7)], {"null": "[NULL]"}, name="ARRAY"),
    kind(
        "UUID",
        "text",
        [f"'00000000-0000-0000-0000-00000000000{n}'" for n in range(7)],
        {"ones": "'ffffffff-ffff-ffff-ffff-ffffffffffff'"},
    ),
    kind(
        "ENUM('a', 'b', 'c', 'd', 'ab', 'bc', 'cd', '', 'zz')",
        "text",
        LETTERS,
        {"empty": "''", "zz": "'zz'"},
        name="ENUM",
    ),
    kind("BOOLEAN", "bool", ("true", "false"), {}),
)

_OF_OTHER_CLASSES = nothing(a_text="'zz'", a_blob="x'00FF'", half="0.5")
_NO_TEXTS = tuple(Cell(name, f"CAST(x'{raw.hex()}' AS TEXT)", NOTHING) for name, raw in UNDECODABLE.items())
SQLITE = named(
    Kind(
        "TEXT",
        "text",
        "TEXT",
        LETTERS,
        (
            *(cell for cell in texts() if cell.name != "ten megabytes"),
            Cell("ten megabytes", f"replace(hex(zeroblob({len(HUGE) // 2})), '0', 'h')", too_long=True),
            Cell("NUL", "'zz' || char(0) || 'zz'", "zz\0zz"),
            Cell("a blob", "x'7A7A'", NOTHING),
            *_NO_TEXTS,
        ),
    ),
    kind("TEXT COLLATE NOCASE", "text", LETTERS, {}, same("cases", "'zz'", "'ZZ'"), name="NOCASE"),
    kind(
        "INTEGER",
        "int",
        NUMBERS,
        {"2^63-1": "9223372036854775807", "-2^63": "-9223372036854775808", "0": "0", "a text of digits": "'77'"},
        *_OF_OTHER_CLASSES,
    ),
    kind(
        "REAL",
        "number",
        NUMBERS,
        {
            "infinity": "9e999",
            "minus infinity": "-9e999",
            "the smallest": "5e-324",
            "2^63-1": "9223372036854775807",
        },
        *_OF_OTHER_CLASSES[:2],
        *nothing(NaN="9e999 - 9e999"),
        same("zero in two ways", "0.0", "-0.0"),
    ),
    kind("BOOLEAN", "bool", ("0", "1"), {}, *_OF_OTHER_CLASSES, *nothing(two="2", minus_one="-1")),
    kind(
        "DATE",
        "date",
        DAYS,
        {"first": "'0001-01-01'", "last": "'9999-12-31'"},
        *_OF_OTHER_CLASSES,
        *nothing(year_10000="'10000-01-01'", no_day="'2025-02-30'", of_the_julian_calendar="2460000"),
    ),
    kind(
        "DATETIME",
        "timestamp",
        DAYS,
        {"last": "'9999-12-31 23:59:59.999999'"},
        *_OF_OTHER_CLASSES,
        *nothing(with_a_zone="'2025-01-01 00:00:00+01:00'", seconds="1700000000"),
    ),
    kind("NUMERIC", "other", NUMBERS, {"a text": "'zz'", "a blob": "x'00'"}),
)
