"""A plan said to a person: what it costs, whom it protects, how good it will be, why, and what to think about."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from unlisted.privacy.guarantee import DEFAULT_DELTA
from unlisted.privacy.rounding import round_down
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query.plan import Plan
from unlisted.release.release import promise, short_up

_LARGE_EPSILON = 10
_LARGE = (
    f"Note: an ε above {_LARGE_EPSILON} protects little: what is seen may be thousands of times as likely because "
    "of one user. It is allowed; prefer less where you can"
)
_SMALL_SHARE = Fraction(1, 10)
"""δ is small against 1 / (number of users) if it is at most so much of it."""


def lines_of(plan: Plan) -> list[str]:
    """Say a plan to a person."""
    mechanism, expected = plan.mechanism, plan.accuracy
    described = mechanism.describe()
    threshold = described.threshold
    shown = short_up(threshold, 6) if isinstance(threshold, Fraction) else f"{threshold or 0:,}"
    lines = [
        f"Plan: {described.title}",
        promise(plan.guarantee, plan.at_delta),
        _about_delta(plan),
        f"Protects: {_protects(mechanism.protects(), plan.asked)}",
        ("" if threshold is None else f"Threshold: {shown}    ") + f"Noise: {described.noise}",
        *([f"Shares of ρ: {_shares(described.shares)}"] if described.shares else []),
        *([_needs(plan)] if expected.needed else []),
    ]
    if expected.half_widths:
        widths = ", ".join(f"±{width:,} (D1 = {n:,})" for n, width in expected.half_widths.items())
        lines.append(f"Counts, 95 % of the time: {widths}, where users of up to D1 found items count in full")
    elif threshold is None:
        lines.append(f"The number is within ±{expected.half_width:,} of the true one, 95 % of the time")
    elif expected.half_width is not None:
        counted = "bounded" if mechanism.counts_are_bounded else "true"
        lines.append(f"Counts are within ±{expected.half_width:,} of the {counted} count, 95 % of the time")
    lines.append(f"Why: {plan.reason}")
    lines += warnings_of(plan)
    if plan.account is not None:
        only = ", charged for the draws that are made" if mechanism.pays_by_draw else ""
        lines.append(f"Paid by: the account {plan.account.name!r}{only}")
    if plan.data is None:
        lines.append("A preview: no data was named, none was touched.")
    return lines


def _shares(shares: Mapping[str, float]) -> str:
    """Say which part of ρ each step gets."""
    return ", ".join(f"{100 * share:.3g} % ({step})" for step, share in shares.items())


def _needs(plan: Plan) -> str:
    """Say how many users must share an item for it to appear."""
    by_items = plan.needed_by_items
    if not by_items:
        above = " beyond the first count left out" if plan.accuracy.above_cut else ""
        return f"To appear, an item needs {plan.asked['count']}{above}: {_chances(plan.accuracy.needed)}"
    said = "; ".join(f"of {n:,}: {_chances(needed)}" for n, needed in by_items.items() if n > 1)
    return f"To appear, an item needs users of one item each: {_chances(by_items[1])}; {said}"


def _chances(needed: Mapping[int, int]) -> str:
    return ", ".join(f"{count:,} ({percent} %)" for percent, count in needed.items())


def _protects(sensitivity: Sensitivity, asked: Mapping[str, Any]) -> str:
    """Say who is protected, and what is counted of those who have more than others."""
    neighbours = "present or absent" if sensitivity.adjacency == "add_remove" else "replaced by another"
    whom = f"every user with all their rows, {neighbours}"
    if sensitivity.items is None:
        return f"{whom}, however many items they have"
    bound = f"{sensitivity.items:,} {'item' if sensitivity.items == 1 else 'items'}"
    each = f" and {sensitivity.count:,} rows of each" if asked["count"] == "rows" else ""
    if asked["user"] is None and asked["items"] is not None:
        return f"{whom}, who was declared to count for at most {bound}{each}"
    return f"{whom}. Of one with more, at most {bound}{each} count, taken at random"


def _about_delta(plan: Plan) -> str:
    """Say what δ is, and why it is so small."""
    said = " (what is taken unless said)" if plan.at_delta == DEFAULT_DELTA else ""
    return (
        f"δ = {short_up(plan.at_delta, 3)}{said}: how probable it may be that the guarantee fails. Keep it far "
        "below 1 / (number of users)"
    )


def warnings_of(plan: Plan) -> list[str]:
    """Say what is allowed and protects little: a large ε, or a δ that is not small against the users declared."""
    large = [_LARGE] if plan.guarantee.epsilon(plan.at_delta) > _LARGE_EPSILON else []
    failing = about_large_delta(plan)
    return large if failing is None else [*large, failing]


def about_large_delta(plan: Plan) -> str | None:
    """Warn where δ is not small against the number of users that the owner declared."""
    if plan.declared_users is None or plan.at_delta * plan.declared_users <= _SMALL_SHARE:
        return None
    declared, better = plan.declared_users, float(round_down(_SMALL_SHARE / plan.declared_users, 3))
    return (
        f"Note: δ = {short_up(plan.at_delta, 3)} is not small against 1 / {declared:,}, the number of users "
        "declared: to publish each user's rows with that probability has such a δ too. It is allowed; prefer at "
        f"most {better:g}"
    )
