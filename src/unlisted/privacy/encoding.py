"""The one text that stands for a mechanism and its parameters, in every version of the program.

A ledger finds a stored answer by a digest of the question, and the question names its mechanism by this text. So
the text must outlive renaming: a class says under which name and with which fields it is written, and these never
change. It is the notation of the first release, `Name(field=value, ...)`, with values as

    whole numbers, texts, None, booleans   as Python writes them
    exact amounts                          Fraction(n, d)
    tuples                                 (a, b) or (a,)
    anything else that is written down     Name(field=value, ...) again

The vocabulary only grows. A field that a later version adds is written only where it is not its default
(`later`), so that questions which could be asked before keep their text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

from unlisted.errors import InvalidArgumentError


@dataclass(frozen=True)
class Notation:
    """How a class is written: its name, its fields in order, and fields that came later with their defaults.

    A field may be called otherwise in the class than in the notation: (written, attribute).
    """

    name: str
    written: tuple[str | tuple[str, str], ...]
    later: Mapping[str, Any] = field(default_factory=dict)

    def text_of(self, value: object) -> str:
        """Write a value of the class."""
        pairs = [(one, one) if isinstance(one, str) else one for one in self.written]
        said = [f"{name}={encoded(getattr(value, attribute))}" for name, attribute in pairs]
        grown = {name: getattr(value, name) for name in self.later}
        said += [f"{name}={encoded(one)}" for name, one in grown.items() if one != self.later[name]]
        return f"{self.name}({', '.join(said)})"


def encoded(value: object) -> str:
    """Write a value; equal values have equal texts, and different ones different texts."""
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, Fraction):
        return f"Fraction({value.numerator}, {value.denominator})"
    if isinstance(value, tuple):
        inside = ", ".join(encoded(one) for one in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    notation = getattr(type(value), "notation", None) or _of_dataclass(value)
    return notation.text_of(value)


def _of_dataclass(value: object) -> Notation:
    """Return how a class that says nothing about it is written: under its full name, with all its fields."""
    if not is_dataclass(value) or isinstance(value, type):
        hint = "Make it a frozen dataclass of whole numbers, texts, fractions and other such dataclasses."
        raise InvalidArgumentError(
            "mechanism", type(value).__name__, "made of values that can be written down", hint
        )
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return Notation(name, tuple(one.name for one in fields(value) if one.compare))
