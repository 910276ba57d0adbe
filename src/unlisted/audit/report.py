"""Audits in words and numbers: a row for a table, and everything for a program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from unlisted.audit.audits import Audit
from unlisted.audit.black_box import CONFIDENCE
from unlisted.audit.exact import ExactAudit

COLUMNS = ("mechanism", "claim", "exact", "black box", "margin", "verdict")

LEGEND = {
    "claim": "δ-approximate ρ-CDP, as the mechanism states it.",
    "exact": "the ρ that some neighbours need at that δ, and the chance of an outcome that only one of them has.",
    "black box": f"no smaller ε is true, with confidence {float(CONFIDENCE)}; and what is promised at the same δ.",
    "margin": "what is left of the claim.",
    "verdict": "'holds' is proved to six digits for all pairs tried, 'violated' is proved, 'open' is neither.",
}
"""What the columns say."""


def as_row(audit: Audit) -> tuple[str, ...]:
    """Return a line of the table."""
    claim = f"ρ {float(audit.claim.rho):.4g}, δ {float(audit.claim.delta):.3g}"
    exact, margin = "", ""
    if audit.exact is not None:
        exact = f"ρ {audit.exact.rho[0]:.4g}, δ {float(audit.exact.escape):.3g}"
        margin = ", ".join(f"{name} {_percent(left)}" for name, left in margins(audit.exact).items())
    ran = "" if audit.black_box is None else f"ε ≥ {float(audit.black_box.epsilon):.3f} of {_up(audit)}"
    return audit.name, claim, exact, ran, margin, audit.verdict.value


def as_markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *rows))


def as_dict(audit: Audit) -> dict[str, Any]:
    """Return an audit as plain values, numbers as floats for display."""
    claim, direct = audit.claim, audit.claim.direct
    found: dict[str, Any] = {
        "mechanism": audit.name,
        "verdict": audit.verdict.value,
        "claim": {
            "rho": float(claim.rho),
            "delta": float(claim.delta),
            "direct": direct and {"epsilon": float(direct.epsilon), "delta": float(direct.delta)},
            "epsilon": float(audit.epsilon),
            "at_delta": float(audit.at_delta),
        },
    }
    if audit.exact is not None:
        found["exact"] = _exact(audit.exact)
    if audit.black_box is not None:
        ran = audit.black_box
        found["black_box"] = {
            "epsilon": float(ran.epsilon),
            "rho": float(ran.rho),
            "confidence": float(ran.confidence),
            "evidence": [str(one) for one in ran.evidence],
        }
    return found


def _exact(exact: ExactAudit) -> dict[str, Any]:
    pair, finding = exact.worst
    low, high = exact.rho
    return {
        "pairs": len(exact.findings),
        "rho": {"at_least": _finite(low), "at_most": _finite(high)},
        "escape": float(exact.escape),
        "margin": {name: _finite(left) for name, left in margins(exact).items()},
        "worst_pair": {
            "name": pair.name,
            "verdict": finding.verdict.value,
            "escape": float(finding.escape),
            "rho_given_common_outcomes": _finite(finding.rho.given),
            "rho": {"at_least": _finite(finding.rho.low), "at_most": _finite(finding.rho.high)},
            "delta_at_epsilon": finding.direct and float(finding.direct.high),
        },
        "curve": [
            {"epsilon": float(point.epsilon), "claimed": float(point.claimed), "exact": float(point.high)}
            for point in exact.curve
        ],
    }


def margins(exact: ExactAudit) -> dict[str, float]:
    """Return which share of the claimed ρ and δ is left over; below 0 if it is exceeded."""
    claim = exact.claim
    return {
        "ρ": 1 - exact.rho[1] / float(claim.rho) if claim.rho else math.nan,
        "δ": 1 - float(exact.escape) / float(claim.delta) if claim.delta else math.nan,
    }


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "exceeded" if share < 0 else "none"
    # Six digits are what is proved; what is smaller is no margin either way.
    return f"{100 * share + 0.0:.1f} %" if abs(share) > 1e-6 else "0.0 %"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _up(audit: Audit) -> str:
    return f"{float(audit.epsilon):.3f}"
