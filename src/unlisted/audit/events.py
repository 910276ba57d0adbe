"""What can be seen in an output, and the event that tells two neighbours apart best.

A *view* is something that can be read off an output: the whole of it, which labels are there, their order, the
count or the place of one label, and over several rounds or questions how often a label came and what its counts
add up to. An *event* says that a view has one of some values, or a number on one side of a bound.

Which events are proposed decides only how much is found. What is found holds whatever was proposed: the chosen
event's chances are estimated from runs that had no part in choosing it (`black_box.py`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Tally = Mapping[Hashable, int]
"""How often each output came up."""

Views = dict[str, Hashable]
"""What is seen in one output, by name. A name that is missing was not there to be seen."""

Score = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
"""(times on one side, times on the other) of many events -> how much each seems to tell."""

WHOLE = "the output"
_COUNT = "the count of "


@dataclass(frozen=True)
class Event:
    """`view` has one of these values, or is a number that is at least `least` or at most `most`."""

    view: str
    values: frozenset[Hashable] = frozenset()
    least: float = math.inf
    most: float = -math.inf

    def holds(self, output: Hashable) -> bool:
        """Return whether it happened."""
        value: Any = seen(output).get(self.view)
        return value in self.values or (_is_number(value) and bool(value >= self.least or value <= self.most))

    def times(self, tally: Tally) -> int:
        """Return how often it happened."""
        return sum(n for output, n in tally.items() if self.holds(output))

    def __str__(self) -> str:
        if self.least < math.inf:
            return f"{self.view} is {_shown(self.least)} or more"
        if self.most > -math.inf:
            return f"{self.view} is {_shown(self.most)} or less"
        if len(self.values) == 1:
            return f"{self.view} is {_shown(next(iter(self.values)))}"
        return f"{self.view} is one of {len(self.values)} values"


class Promising(NamedTuple):
    """An event and how much it seemed to tell when it was chosen."""

    event: Event
    score: float


def plain(output: object) -> Hashable:
    """Return an output as it is if it is hashable; lists, mappings, sets and arrays become tuples."""
    try:
        hash(output)
    except TypeError:
        return _frozen(output)
    return output


def _frozen(output: object) -> Hashable:
    if isinstance(output, Mapping):
        return tuple(sorted(((label, plain(value)) for label, value in output.items()), key=repr))
    if isinstance(output, set):
        return frozenset(output)
    if isinstance(output, np.ndarray):
        return plain(output.tolist())
    if isinstance(output, list | tuple):
        return tuple(plain(one) for one in output)
    return repr(output)


def seen(output: Hashable) -> Views:
    """Return all views of one output."""
    views: Views = {WHOLE: output}
    if _is_number(output):
        views |= _of_number(WHOLE, output)
    elif isinstance(output, tuple):
        several = any(isinstance(part, tuple) and not _is_row(part) for part in output)
        views |= _of_several(output) if several else _of_one(output)
    return views


def _of_one(answer: tuple[Any, ...]) -> Views:
    """See one answer: rows of a label and a number, or labels alone."""
    rows = [row for row in answer if _is_row(row)]
    labels = tuple(map(_label, answer)) if rows else answer
    views: Views = {"the order": labels, "who is there": frozenset(labels), "how many are there": len(labels)}
    for label, number in rows:
        views |= _of_number(f"{_COUNT}{label!r}", number)
    if len(rows) > 1:
        views["the sum of all counts"] = sum(number for _, number in rows)
    if not rows:
        views |= {f"the place of {label!r}": place for place, label in enumerate(labels, start=1)}
    return views


def _of_several(parts: tuple[Any, ...]) -> Views:
    """See several answers (of rounds, of questions): each by itself, and what they add up to."""
    came: Counter[str] = Counter()
    added: Counter[str] = Counter()
    views: Views = {
        "who is there": tuple(frozenset(map(_label, part)) for part in parts if isinstance(part, tuple))
    }
    for number, part in enumerate(parts, start=1):
        alone = _of_one(part) if isinstance(part, tuple) else _of_number("the number", part)
        for view, value in alone.items():
            views[f"{view} in answer {number}"] = value
            if view.startswith(_COUNT):
                added[f"the sum of {view}"] += value  # type: ignore[operator]
        if isinstance(part, tuple):
            came.update(f"how often {_label(row)!r} came" for row in part)
    return {**views, **came, **added}


def _of_number(name: str, number: Any) -> Views:
    """See a number; of a fraction also its last binary digit, which shows the grid it was computed on."""
    views: Views = {name: number}
    if isinstance(number, float) and math.isfinite(number):
        views[f"the last binary digit of {name}"] = number.as_integer_ratio()[1].bit_length() - 1
    return views


def _is_row(part: object) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and not isinstance(part[0], tuple) and _is_number(part[1])


def _label(row: Any) -> Hashable:
    return row[0] if _is_row(row) else row  # type: ignore[no-any-return]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


Table = dict[Hashable, list[int]]
"""value of a view -> how often it came up on either side."""


def by_view(one: Tally, other: Tally) -> dict[str, Table]:
    """Count, for each view, how often it had each value on either side."""
    tables: defaultdict[str, Table] = defaultdict(dict)
    for side, tally in enumerate((one, other)):
        for output, times in tally.items():
            for view, value in seen(output).items():
                tables[view].setdefault(value, [0, 0])[side] += times
    return tables


def best_event(ranking: dict[str, Table], scoring: dict[str, Table], side: int, score: Score) -> Promising:
    """Choose the event that seems to tell most in favour of one side, from two samples of both.

    The first sample puts a view's values in the order of how much likelier each is on that side; the second scores
    the sets at the head of that order. With one sample for both, values seen only once would always look like
    proof.
    """
    found = [Promising(Event(WHOLE), -math.inf)]
    for view, table in ranking.items():
        scored = scoring.get(view, {})
        found += [_best_head(view, order, scored, side, score) for order in _orders(table, scored, side)]
    return max(found, key=lambda one: one.score)


class _Order(NamedTuple):
    """Values in the order in which an event takes them in; `bound` if they are all on one side of a number."""

    values: list[Hashable]
    bound: str = ""


def _orders(ranked: Table, scored: Table, side: int) -> Iterator[_Order]:
    yield _Order(sorted(ranked, key=lambda value: (ranked[value][1 - side] + 0.5) / (ranked[value][side] + 0.5)))
    values: Any = scored
    if len(values) > 2 and all(map(_is_number, values)):
        # One side of a bound is so simple an event that the sample it is scored by may also suggest it.
        upward = sorted(values)
        yield _Order(upward, "most")
        yield _Order(upward[::-1], "least")


def _best_head(view: str, order: _Order, table: Table, side: int, score: Score) -> Promising:
    times = np.array([table.get(value, (0, 0)) for value in order.values], dtype=np.int64).cumsum(axis=0)
    scores = score(times[:, side], times[:, 1 - side])
    last = int(np.argmax(scores))
    if order.bound:
        bound = _towards(order.values[last : last + 2])
        event = Event(view, most=bound) if order.bound == "most" else Event(view, least=bound)
    else:
        event = Event(view, frozenset(order.values[: last + 1]))
    return Promising(event, float(scores[last]))


def _towards(values: list[Any]) -> float:
    """Return a bound half-way from a value to the next, where there is one: new runs fall between old ones."""
    half: float = (values[-1] - values[0]) / 2
    inside: float = values[0] + (half if isinstance(values[0], float) else int(half))
    return inside
