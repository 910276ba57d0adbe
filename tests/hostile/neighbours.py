"""The definition of neighbours as a check: with the hostile row and without it, the same question is answered,
and what was counted differs by what one user may change.

A complaint is one sentence. `complaints` looks at one pair of tables and one way to ask.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from tests.hostile.cells import NULL_WHERE, Cell, Leaves
from tests.hostile.measures import Counts, Label, Measure, said
from tests.hostile.rows import ITEMS_OF_EACH, SECRET_ITEM, VILLAIN, Pair, Rows

from unlisted.errors import InvalidArgumentError
from unlisted.tables.table import Table

Ask = Callable[[Rows], Table]
"""How a source is given rows."""


@dataclass
class Outcome:
    """What became of a question: counts, or a refusal before data was touched, or a failure."""

    counts: Counts | None = None
    refusal: str = ""
    failure: str = ""
    said_aloud: list[str] = field(default_factory=list)

    @property
    def leaks(self) -> bool:
        """Whether a message or a log quotes the villain's row."""
        return any(secret in text for text in self.said_aloud for secret in (VILLAIN, SECRET_ITEM))


class _Everything(logging.Handler):
    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(self.format(record))


@contextmanager
def listening(outcome: Outcome) -> Iterator[None]:
    """Hear all that is logged meanwhile, but for the owner's log, which hands nothing on."""
    root, handler = logging.getLogger(), _Everything(outcome.said_aloud)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def outcome_of(table: Table, measure: Measure, where: str | None) -> Outcome:
    """Ask, and say what became of it."""
    outcome = Outcome()
    with listening(outcome):
        try:
            outcome.counts = measure.ask(table, where)
        except InvalidArgumentError as error:
            outcome.refusal = str(error)
            outcome.said_aloud.append(_whole(error))
        except (KeyboardInterrupt, pytest.skip.Exception, pytest.fail.Exception):
            raise
        except BaseException as error:  # Polars panics, which is no Exception
            outcome.failure = f"{type(error).__name__}: {error}"
            outcome.said_aloud.append(_whole(error))
    return outcome


def _whole(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def complaints(pair: Pair, ask: Ask, measure: Measure, where: str | None) -> list[str]:
    """Compare the two tables of a pair; nothing is wrong with what is refused for its columns alone."""
    without = outcome_of(ask(pair.without), measure, where)
    return complaints_beside(without, pair, ask, measure, where)


def complaints_beside(without: Outcome, pair: Pair, ask: Ask, measure: Measure, where: str | None) -> list[str]:
    """Compare a table with villains to what became of the same question without them."""
    with_them = outcome_of(ask(pair.with_villains), measure, where)
    if without.failure:
        return [f"fails without any hostile row: {without.failure}"]
    found = []
    if with_them.leaks:
        found.append("a message or a log quotes the hostile row")
    if with_them.failure:
        return [*found, f"fails with the row only: {with_them.failure}"]
    if (with_them.counts is None) != (without.counts is None) or with_them.refusal != without.refusal:
        return [*found, "is refused with the row, or without it, but not both"]
    if with_them.counts is None or without.counts is None:
        return found
    changed = changes(without.counts, with_them.counts)
    found += differing(changed, measure, len(pair.cells), _most_items(pair, measure))
    found += over_the_bound(changed, pair, measure)
    found += strange_labels(without.counts, with_them.counts, pair, measure)
    found += counted_in_spite(with_them.counts, pair, where)
    return found


def changes(without: Counts, with_them: Counts) -> dict[Label, int]:
    """By how much each label that differs does."""
    labels = {**without, **with_them}
    differences = {label: with_them.get(label, 0) - without.get(label, 0) for label in labels}
    return {label: by for label, by in differences.items() if by}


def differing(changed: dict[Label, int], measure: Measure, villains: int, most_items: int) -> list[str]:
    """What is more than so many users may change."""
    found = []
    if any(by < 0 for by in changed.values()):
        found.append("takes away from the counts of others")
    if any(by > measure.each * villains for by in changed.values()):
        found.append(f"changes a count by more than {measure.each} a user")
    total = sum(-(-by // measure.each) for by in changed.values() if by > 0)
    if total > most_items * villains:
        found.append(f"changes {total} counts of {villains} users, of whom each may change {most_items}")
    return found


def over_the_bound(changed: dict[Label, int], pair: Pair, measure: Measure) -> list[str]:
    """Villains who change more of the items that are theirs alone than one user may."""
    found = []
    for number, cell in enumerate(pair.cells):
        own = f"text {SECRET_ITEM}{number}"
        kept = [label for label in changed if any(part == own or part.startswith(f"{own}-") for part in label)]
        if len(kept) > _most_items(pair, measure):
            found.append(f"lets one user change {len(kept)} counts of {measure.items} ({cell.name})")
    return found


def _most_items(pair: Pair, measure: Measure) -> int:
    if measure.items is not None:
        return measure.items
    spelt = max(len(cell.again) for cell in pair.cells)
    return max(ITEMS_OF_EACH, 4, 2 * (1 + spelt))


def strange_labels(without: Counts, with_them: Counts, pair: Pair, measure: Measure) -> list[str]:
    """New labels that are nothing a villain wrote; calm values are known from the table without villains."""
    at = measure.columns.index(pair.role) if pair.role in measure.columns else None
    known = {form for cell in pair.cells for form in _forms(cell)}
    known |= {label[at] for label in without} if at is not None else set()
    unsaid = sum(cell.leaves is Leaves.UNSAID for cell in pair.cells)
    found, strange = [], set()
    for label in sorted(with_them.keys() - without.keys()):
        if not all(_is_plain(part) for place, part in enumerate(label) if place != at):
            found.append("a label leaves as something else, in a column that is not hostile")
        if at is not None and label[at] not in known:
            strange.add(label[at])
    if len(strange) > unsaid:
        found.append(f"a label leaves that no row holds, such as {min(strange)[:60]!r}")
    return found


def _forms(cell: Cell) -> list[str]:
    """How a hostile label may be said."""
    if isinstance(cell.leaves, Leaves) or cell.too_long:
        return []
    # DuckDB reads decimals of more than 38 digits as floating point.
    rounded = [said(float(cell.leaves))] if isinstance(cell.leaves, Decimal) else []
    return [said(cell.leaves), said(str(cell.leaves)), *rounded]


def _is_plain(part: str) -> bool:
    return part.startswith((f"text {SECRET_ITEM}", "text i")) or part == "text calm"


def counted_in_spite(counts: Counts, pair: Pair, where: str | None) -> list[str]:
    """Rows that count although they cannot be read as what their column holds."""
    reads = pair.role == "user" or (pair.role == "seen" and where not in (None, NULL_WHERE))
    if not reads:
        return []
    said_items = [part for label in counts for part in label if part.startswith(f"text {SECRET_ITEM}")]
    found = []
    for number, cell in enumerate(pair.cells):
        own = f"text {SECRET_ITEM}{number}"
        # What a villain has besides, where the user is not hostile, is named after it and counts.
        if cell.is_nothing and any(
            item == own or (pair.role == "user" and item.startswith(f"{own}-")) for item in said_items
        ):
            found.append(f"counts a row whose {pair.role} is no value ({cell.name})")
    return found
