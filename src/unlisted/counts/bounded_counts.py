"""Counts that carry their sensitivity. A mechanism takes nothing else: raw counts cannot reach noise.

`BoundedCounts` says, with the numbers, what one user could have changed in them, whether they are all the counts
or only the largest, whether small ones were cut off before (`minimum_count`), and whether ties at the cut were
broken by the label (`ties`). Every price and threshold is computed from these statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.text_order import is_text, text_order
from unlisted.counts.whole_numbers import to_numpy
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity

LARGEST_COUNT = 2**62
"""Counts saturate here. Saturating moves no two counts apart, so it never adds sensitivity; overflow would."""

_SORTED_AT_ONCE = 1 << 18

Ties = Literal["label", "unknown"]


class Largest(NamedTuple):
    """The k̄ largest counts with their labels, and `bottom`, the (k̄+1)-th or what an unlisted label may have."""

    labels: pa.Array
    counts: NDArray[np.int64]
    bottom: int


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BoundedCounts:
    """A histogram with the bounds under which it was counted.

    Guarantees: labels are distinct, non-null and plain; counts are whole, between max(1, minimum_count) and
    `LARGEST_COUNT`. If `fetched` is k̄, there are at most k̄ + 1 rows, they are the largest counts there were,
    and they stand in the order of count (largest first) and label, whatever order they came in.

    Args:
        labels: what was counted: an Arrow array, or a list.
        counts: how often, whole numbers in the same order.
        sensitivity: what one user can change in them.
        fetched: k̄, if these are the k̄ + 1 largest counts only.
        minimum_count: smaller counts were cut off before, as by `HAVING`.
        ties: how equal counts were cut off: "label", in the order of the labels, or "unknown".

    Examples:
        >>> counts = ul.BoundedCounts(["soup", "tea"], [120, 64], ul.Sensitivity(items=1))
        >>> len(counts)
        2
    """

    labels: pa.Array
    counts: NDArray[np.int64]
    sensitivity: Sensitivity
    fetched: int | None
    minimum_count: int
    ties: Ties

    def __init__(
        self,
        labels: object,
        counts: object,
        sensitivity: Sensitivity,
        *,
        fetched: int | None = None,
        minimum_count: int = 1,
        ties: Ties = "label",
    ) -> None:
        if fetched is not None:
            fetched = whole("fetched", fetched)
        if ties not in ("label", "unknown"):
            raise InvalidArgumentError("ties", ties, "'label' or 'unknown'")
        minimum_count = whole("minimum_count", minimum_count)
        array, numbers = label_rules.plain(labels), _whole_counts(counts)
        if len(array) != len(numbers):
            raise InvalidCountsError("Every label needs one count, and every count one label.")
        # Texts that are not too many are put in order, which is wanted again; else it would take too much memory.
        in_order = text_order(array) if is_text(array) and len(array) <= _SORTED_AT_ONCE else None
        if label_rules.has_duplicates(array) if in_order is None else in_order.has_equal:
            raise InvalidCountsError("A label is listed twice. Add up the counts of equal labels first.")
        if fetched is not None and len(array) > fetched + 1:
            raise InvalidCountsError(
                f"There are more rows than the {fetched + 1} that a top-{fetched} is read from. "
                "Give the largest counts only, or declare a larger `fetched`."
            )
        # A listed zero would reveal its label; a count below the declared minimum should not be here.
        if numbers.size and numbers.min() < minimum_count:
            kept = np.flatnonzero(numbers >= minimum_count)
            array, numbers, in_order = label_rules.take(array, kept), numbers[kept], None
        if fetched is not None:
            rows = label_rules.order(array, numbers)
            array, numbers, in_order = label_rules.take(array, rows), numbers[rows], None
        numbers.setflags(write=False)
        for name, value in (
            ("labels", array),
            ("counts", numbers),
            ("sensitivity", sensitivity),
            ("fetched", fetched),
            ("minimum_count", minimum_count),
            ("ties", ties),
        ):
            object.__setattr__(self, name, value)
        if in_order is not None:
            object.__setattr__(self, "by_label", in_order.positions)

    @classmethod
    def from_dict(cls, counts: Mapping[Any, int], sensitivity: Sensitivity, **declared: Any) -> BoundedCounts:
        """Build from a mapping of label to count; keywords as in the constructor."""
        return cls(list(counts.keys()), list(counts.values()), sensitivity, **declared)

    @cached_property
    def by_label(self) -> NDArray[np.int64]:
        """The positions that sort labels by their bytes: texts by their own, others by those that name them."""
        if is_text(self.labels):
            return text_order(self.labels).positions
        names = label_rules.encode_all(self.labels)
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)

    @property
    def floor(self) -> int:
        """The count that an unlisted label may have had: 0, or one below what was cut off."""
        return self.minimum_count - 1

    def largest(self, fetched: int) -> Largest:
        """Return the `fetched` largest counts and the one after them, which stands for all the rest."""
        if self.fetched is not None and self.fetched != fetched:
            # Cutting again what another order already cut is a tie rule that nothing is proved for.
            raise InvalidCountsError(
                f"A top-{fetched} is read from exactly {fetched + 1} largest counts, not from {self.fetched + 1}."
            )
        labels, counts = self.labels, self.counts
        if self.fetched is None:
            rows = label_rules.order(labels, counts)[: fetched + 1]
            labels, counts = label_rules.take(labels, rows), counts[rows]
        bottom = int(counts[fetched]) if len(counts) > fetched else self.floor
        return Largest(labels[:fetched], counts[:fetched], bottom)

    def require(self, sensitivity: Sensitivity, minimum_count: int) -> None:
        """Refuse to be released by a mechanism that was priced for less than these counts declare."""
        declared = self.sensitivity
        if declared.adjacency != sensitivity.adjacency:
            raise InvalidCountsError(
                f"Counts declared for '{declared.adjacency}' neighbours cannot be released under "
                f"'{sensitivity.adjacency}'."
            )
        if sensitivity.items is not None and (declared.items is None or declared.items > sensitivity.items):
            raise InvalidCountsError(
                f"One user may change {declared.items or 'any number of'} items of these counts, but the "
                f"mechanism was priced for {sensitivity.items}. Bound the counts further, or calibrate for what "
                "they declare."
            )
        if declared.count > sensitivity.count:
            raise InvalidCountsError(
                f"One user may change a count by {declared.count}, but the mechanism was priced for "
                f"{sensitivity.count}."
            )
        if self.minimum_count > minimum_count:
            raise InvalidCountsError(
                f"Counts below {self.minimum_count} were cut off before, but the threshold allows for "
                f"{minimum_count}."
            )

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        # Neither labels nor how many there are: a repr ends up in logs.
        kind = "all counts" if self.fetched is None else f"the {self.fetched + 1} largest counts"
        return f"<BoundedCounts: {kind}, {self.sensitivity}>"


def _whole_counts(counts: object) -> NDArray[np.int64]:
    """Read counts as whole numbers from 0, saturated; refuse fractions, negatives and nulls."""
    if isinstance(counts, pa.Array | pa.ChunkedArray):
        if counts.null_count:
            raise InvalidCountsError("A count is null. Every listed label needs a whole number.")
        counts = to_numpy(counts) if pa.types.is_int64(counts.type) else counts.to_pylist()
    try:
        numbers = np.asarray(counts)
        if numbers.dtype.kind == "f" and not isinstance(counts, np.ndarray):
            # numpy reads a list with a whole number above 2^63 as floats.
            numbers = np.asarray(counts, dtype=object)
    except ValueError:
        raise InvalidCountsError("Counts must be one list of whole numbers.") from None
    if numbers.ndim != 1:
        raise InvalidCountsError("Counts must be one list of whole numbers.")
    if numbers.size == 0:
        return np.zeros(0, dtype=np.int64)
    if numbers.dtype == object and all(isinstance(one, Integral) and not isinstance(one, bool) for one in numbers):
        numbers = np.array([min(max(int(one), -1), LARGEST_COUNT) for one in numbers], dtype=np.int64)
    if numbers.dtype.kind not in "iu":
        raise InvalidCountsError("Counts must be whole numbers: no fractions, no text, no missing values.")
    if numbers.min() < 0:
        raise InvalidCountsError("A count is negative. Counts are numbers of users or rows, 0 or above.")
    if numbers.dtype.kind == "u":
        # Saturate before the numbers become signed, where the largest would turn negative.
        numbers = np.minimum(numbers.astype(np.uint64), np.uint64(LARGEST_COUNT))
    saturated: NDArray[np.int64] = np.minimum(numbers.astype(np.int64), LARGEST_COUNT)
    return saturated


def add_noise(counts: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add noise; a sum too large for 64 bits saturates. Counts are positive, so none is too small."""
    most = np.iinfo(np.int64).max
    room: NDArray[np.int64] = np.minimum(noise, most - counts)
    return counts + room
