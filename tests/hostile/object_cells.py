"""Python objects in the columns of pandas frames: anything at all can stand in one."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from typing import Any

import numpy as np
from tests.hostile.cells import TEXTS, TEXTS_WITH_NUL, TOO_LONG, UNDECODABLE, Cell, Kind, Leaves
from tests.hostile.rows import ROLES, Rows
from tests.hostile.sources import Source, Workshop

NOTHING = Leaves.NOTHING


class Raises:
    """An object that answers every question with an error."""

    def __str__(self) -> str:
        raise RuntimeError("zz-villain")

    def __repr__(self) -> str:
        raise RuntimeError("zz-villain")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("zz-villain")

    def __hash__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        raise RuntimeError("zz-villain")


class LoudNumber(int):
    """A number that cannot be said."""

    def __str__(self) -> str:
        raise RuntimeError("zz-villain")


class LoudText(str):
    """A text whose comparison raises."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("zz-villain")

    def __ne__(self, other: object) -> bool:
        raise RuntimeError("zz-villain")

    def __hash__(self) -> int:
        return 1


class Unpresentable(datetime.tzinfo):
    """A time zone that raises when it is asked."""

    def utcoffset(self, when: Any) -> Any:
        raise RuntimeError("zz-villain")


def _objects() -> list[Cell]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    plain = {
        "bytes": b"caf\xe9",
        "a list": ["u0"],
        "a dict": {"user": "u0"},
        "an object": object(),
        "a type": int,
        "a set": {1},
        "an array": np.array([1, 2]),
        "an empty array": np.array([]),
        "an object that raises": Raises(),
        "a number that raises": LoudNumber(7),
        "a text that raises": LoudText("zz"),
        "deep lists": deep,
        "a lone surrogate": "zz\ud800",
        "a NumPy text": np.str_("zz"),
        "a decimal NaN": decimal.Decimal("sNaN"),
        "a quiet decimal NaN": decimal.Decimal("NaN"),
        "a huge number": 10**5000,
        "a long float": 1e308,
        "a complex NaN": complex("nan"),
        "a zone that raises": datetime.datetime(2020, 1, 1, tzinfo=Unpresentable()),
        "a NumPy moment": np.datetime64("-290000-01-01"),
        "no moment": np.datetime64("NaT"),
        "a uuid": uuid.UUID(int=7),
        "an ellipsis": ...,
        "an exception": ValueError("zz-villain"),
        "a ratio": math.pi,
    }
    return [Cell(name, value) for name, value in plain.items()]


def _texts() -> list[Cell]:
    texts = [Cell(name, text, text) for name, text in {**TEXTS, **TEXTS_WITH_NUL}.items()]
    long = [Cell(name, raw.decode(), too_long=True) for name, raw in TOO_LONG.items()]
    missing = [Cell("None", None, NOTHING), Cell("NaN", math.nan, NOTHING)]
    half = [
        Cell(f"{name}, escaped", raw.decode("utf-8", "surrogateescape"), NOTHING)
        for name, raw in UNDECODABLE.items()
    ]
    return [*texts, *long, *missing, *half]


CALM = ("a", "b", "c", "d", "ab", "bc", "cd")
KINDS = {
    kind.name: kind
    for kind in (
        Kind("objects", "text", object, CALM, (*_texts(), *_objects())),
        Kind("texts", "text", "str", CALM, tuple(_texts())),
        Kind("python texts", "text", "string[python]", CALM, tuple(_texts())),
        Kind("categories", "text", "category", CALM, tuple(_texts())),
        Kind("mixed numbers", "text", object, (1, 2, 3, 4, 5, 6, 7), tuple(_objects())),
        Kind(
            "floats",
            "number",
            "float64",
            (1.25, 2.0, 3.0, 4.0, 5.5, 6.0),
            (Cell("NaN", math.nan, NOTHING), Cell("infinity", math.inf, math.inf), Cell("zero", -0.0, -0.0)),
        ),
        Kind(
            "nullable floats",
            "number",
            "Float64",
            (1.25, 2.0, 3.0, 4.0, 5.5, 6.0),
            (Cell("None", None, NOTHING), Cell("infinity", math.inf, math.inf)),
        ),
        Kind(
            "nullable whole numbers",
            "int",
            "Int64",
            (1, 2, 3, 4, 5, 6),
            (Cell("None", None, NOTHING), Cell("the most", 2**63 - 1, 2**63 - 1)),
        ),
        Kind(
            "seconds",
            "timestamp",
            "datetime64[s]",
            tuple(f"2020-0{n}-01" for n in range(1, 8)),
            (
                Cell("year 10000", np.datetime64("10000-01-01", "s"), NOTHING),
                Cell("NaT", None, NOTHING),
                Cell("before Christ", np.datetime64("-5000-01-01", "s"), NOTHING),
            ),
        ),
    )
}


def _pandas(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import pandas

    columns: dict[str, Any] = {}
    for role in ROLES:
        cells = np.empty(len(rows.rows), dtype=object)
        cells[:] = rows.column(role)
        series = pandas.Series(cells, dtype=object)
        if role != rows.role:
            columns[role] = series.astype("str")
        elif rows.kind.typed == "category":
            columns[role] = pandas.Categorical(series, pandas.Index(series.dropna().unique(), dtype=object))
        else:
            columns[role] = series.astype(rows.kind.typed)
    frame = pandas.DataFrame(columns)
    if layout == "a strange index":
        frame.index = [f"zz-villain{n}" for n in range(len(frame))]
    return frame, {}


OBJECTS = {"pandas objects": Source("pandas objects", KINDS, ("plain", "a strange index"), _pandas)}
