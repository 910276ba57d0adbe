"""The exact laws of totals: one number with noise, shown as 0 where it is below."""

from __future__ import annotations

from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.mechanisms.totals.total import Total


def total_law(mechanism: Total, total: int) -> OutputLaw:
    """Return the law of what is shown of a total."""
    return noise_law(mechanism.law).seen_as(lambda z: max(0, total + z))
