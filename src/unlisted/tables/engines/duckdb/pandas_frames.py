"""pandas frames, whose columns may hold anything.

A column of Python objects is read as text: of each object, what it says of itself. So are periods and intervals,
and a list is the text of a JSON array. An index that has a name is a column.
"""

from __future__ import annotations

import datetime
import decimal
import json
import numbers
import uuid
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from unlisted.tables.engines.duckdb.engine import Opening
from unlisted.tables.engines.duckdb.frames import Frame, duckdb_types

_MOST_DIGITS = 400
_LARGEST = 10**_MOST_DIGITS
_SAID_AS_TEXT = (numbers.Number, decimal.Decimal, datetime.date, datetime.time, uuid.UUID)
_LISTS = (list, tuple, np.ndarray)
_SPOKEN = ("period", "interval")


class Pandas(Frame):
    """A pandas frame. In a column of objects, different texts may be one user: 1, 1.0 and True are equal."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        super().__init__(lambda: _schema(frame), lambda columns: _rows(frame, columns, None))
        self._known: tuple[Hashable, Mapping[str, str]] | None = None

    def state(self) -> Hashable:
        """Return the columns there are now: a pandas frame can get others."""
        return tuple((str(name), str(_values(self._frame, name).dtype)) for name in _names(self._frame))

    def types(self) -> Mapping[str, str]:
        """Read the schema, and read it again when the columns have changed."""
        now = self.state()
        if self._known is None or self._known[0] != now:
            self._known = (now, duckdb_types(self._schema()))
        return self._known[1]

    def hint(self) -> str:
        """Say which columns cannot be asked for, because of their names."""
        names = self._frame.columns
        unwritten, shared = sum(not isinstance(name, str) for name in names), int(names.duplicated().sum())
        said = []
        if unwritten:
            which = "1 column has a name" if unwritten == 1 else f"{unwritten:,} columns have names"
            said.append(
                f"{which} that cannot be asked for, not being text: frame.columns = frame.columns.map(str)."
            )
        if shared:
            said.append("Columns that share a name cannot be asked for: rename them.")
        return " ".join(said)

    def rows(self, opening: Opening) -> pa.Table:
        """Return the rows, users who are equal under one name."""
        return _rows(self._frame, list(opening.columns), opening.user)


def _names(frame: Any) -> list[Any]:
    """Return the names of columns, of an index too where no column has them."""
    columns = list(frame.columns[~frame.columns.duplicated(keep=False)])
    return columns + [name for name in frame.index.names if isinstance(name, str) and name not in frame.columns]


def _values(frame: Any, name: str) -> Any:
    return frame[name] if name in frame.columns else frame.index.get_level_values(name)


def _schema(frame: Any) -> pa.Schema:
    """Return the schema that the columns of a frame will have."""
    fields = []
    for name in _names(frame):
        try:
            fields.append(pa.field(name, _column(_values(frame, name)[:0], _text).type))
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
            # No name that can be asked for, or a type that Arrow does not know; the other columns are still good.
            continue
    return pa.schema(fields)


def _rows(frame: Any, columns: list[str], user: str | None) -> pa.Table:
    said = {name: same_text if name == user else _text for name in columns}
    return pa.table({name: _column(_values(frame, name), said[name]) for name in columns})


def _column(series: Any, said: Callable[[object], str | None]) -> pa.Array | pa.ChunkedArray:
    """Return a column of a frame, NaN as null; Python objects, periods and intervals as text."""
    is_categorical = hasattr(series.dtype, "categories")
    values = series.dtype.categories if is_categorical else series
    if str(values.dtype).startswith(_SPOKEN):
        said = _spoken
    elif not _holds_objects(values):
        return pa.array(series, from_pandas=True)
    texts = pa.array((said(value) for value in values), pa.large_string())
    if not is_categorical:
        return texts
    # As the categories say themselves: where a row is missing, pandas shows the others of a column otherwise.
    codes = np.asarray(series.cat.codes if hasattr(series, "cat") else series.codes, dtype=np.int64)
    return texts.take(pa.array(codes, mask=codes < 0))


def _spoken(value: object) -> str | None:
    """Say a period or an interval, such as 2025-11 or (0, 10]; in one column, equal ones have equal texts."""
    return str(value) if value == value else None  # noqa: PLR0124 - what is missing differs from itself


def _holds_objects(values: Any) -> bool:
    """Return whether values are Python objects, as texts are too where Arrow does not store them."""
    return bool(values.dtype == object) or getattr(values.dtype, "storage", None) == "python"


def _text(value: object) -> str | None:
    """Say one Python object as text; what is missing, is no plain value or cannot say itself is null."""
    try:
        if isinstance(value, _LISTS):
            listed = value.tolist() if isinstance(value, np.ndarray) else value
            return str.encode(json.dumps(listed, ensure_ascii=False, default=_text)).decode()
        text = value if isinstance(value, str) else str(value) if isinstance(value, _SAID_AS_TEXT) else None
        if text is None or value != value:  # noqa: PLR0124 - NaN and NaT are what differs from itself
            return None
        return str.encode(text).decode()
    except Exception:
        # The code of the object itself runs here, and may raise anything.
        return None


def same_text(value: object) -> str | None:
    """Say one Python object as text, so that equal objects have the same one; null as `_text` says it."""
    text = _text(value)
    try:
        return text if text is None else _same(value, text)
    except Exception:
        # As above: whatever one object raises, it is that object which cannot be read.
        return None


def _same(value: object, text: str) -> str | None:
    if isinstance(value, _LISTS):
        # [1] and [1.0] are equal, and their texts are not.
        return None
    if isinstance(value, str | uuid.UUID):
        return text
    if isinstance(value, datetime.datetime) and value.utcoffset() is not None:
        return str(value.astimezone(datetime.UTC))
    if isinstance(value, datetime.time) and value.utcoffset() is not None:
        return None
    if isinstance(value, complex) and value.imag == 0:
        value = value.real
    if isinstance(value, decimal.Decimal) and value.adjusted() < -_MOST_DIGITS and value != 0:
        return None
    if isinstance(value, numbers.Rational | float | decimal.Decimal | numbers.Real):
        # The exact number, whatever type holds it. One with very many digits would take very long to write.
        return str(Fraction(value)) if -_LARGEST < value < _LARGEST else None  # type: ignore[arg-type]
    return text
