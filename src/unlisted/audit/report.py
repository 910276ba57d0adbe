"""Audits in words and numbers: a row for a table, everything for a program, and a page for people.

The page is one HTML file that reads well on its own: no script, nothing from elsewhere, in light and in dark.
Charts come as SVG from whoever draws them. Names of pairs and events come with the mechanism under audit, which
may be anybody's: everything is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from string import Template
from typing import Any

from unlisted.audit.audits import Audit, worst_of
from unlisted.audit.black_box import CONFIDENCE
from unlisted.audit.exact import ExactAudit
from unlisted.audit.lemma import Verdict
from unlisted.privacy.rounding import exp_up

COLUMNS = ("mechanism", "claim", "exact", "black box", "margin", "verdict")

LEGEND = {
    "claim": "δ-approximate ρ-zCDP, as the mechanism states it.",
    "exact": "the ρ that some neighbours need at that δ, and the chance of an outcome that only one of them has.",
    "black box": f"no smaller ε is true, with confidence {float(CONFIDENCE)}; and what is claimed at the same δ.",
    "margin": "what is left of the claim.",
    "verdict": "'holds' is proved to six digits for all pairs tried, 'violated' is proved, 'open' is neither.",
}
"""What the columns say."""


def as_row(audit: Audit) -> tuple[str, ...]:
    """Return a line of the table."""
    claim = f"ρ {float(audit.claim.rho):.4g}, δ {float(audit.claim.delta):.3g}"
    exact, margin = "", ""
    if audit.exact is not None:
        exact = f"ρ {audit.exact.rho[0]:.4g}, δ {float(audit.exact.failure):.3g}"
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
        "failure": float(exact.failure),
        "margin": {name: _finite(left) for name, left in margins(exact).items()},
        "worst_pair": {
            "name": pair.name,
            "verdict": finding.verdict.value,
            "failure": float(finding.failure),
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
        "δ": 1 - float(exact.failure) / float(claim.delta) if claim.delta else math.nan,
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


CLAIMED, EXACT, SEEN = "claimed", "exact", "seen in runs"
CURVES = {CLAIMED: "#3b82c4", EXACT: "#d97706", SEEN: "#7c8a99"}
"""The three curves of a chart and their colours, which read on white and on black."""

_SUMMARY = {
    Verdict.holds: "Every claim holds on every pair of neighbours that was tried.",
    Verdict.open: "No claim was refuted; of some it was not proved that they hold.",
    Verdict.violated: "At least one claim is false.",
}

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Privacy audit</title>
<style>
  :root { --ink: #1f2933; --soft: #52606d; --paper: #ffffff; --line: #d9e2ec; --good: #1b7f4d; --bad: #b42318; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e4e7eb; --soft: #9aa5b1; --paper: #14181d; --line: #323f4b; --good: #4ade80; --bad: #ff7b72; }
  }
  body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
         max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
  p.soft, figcaption, .legend { color: var(--soft); font-size: .9rem; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: .9rem; width: 100%; }
  th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line);
           white-space: nowrap; font-variant-numeric: tabular-nums; }
  td.words { white-space: normal; overflow-wrap: anywhere; }
  a { color: inherit; }
  .holds { color: var(--good); font-weight: 600; } .violated { color: var(--bad); font-weight: 600; }
  .open { color: var(--soft); font-weight: 600; }
  figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; color: var(--ink); }
</style>
<h1>Privacy audit</h1>
<p class="soft">unlisted $version, $date</p>
<p><strong class="$verdict">$summary</strong></p>
<div class="scroll"><table><thead><tr>$head</tr></thead><tbody>
$rows
</tbody></table></div>
<p class="legend">$legend</p>
$sections
<h2>How to read this</h2>
<p>For two neighbours, data sets that differ in one user, the exact audit computes the law of the answer on each
and compares the two, outcome by outcome. An outcome that only one of them can have tells them apart at once; its
chance has to be within δ. All other outcomes are priced by ρ. The black box knows nothing of this. It runs the
mechanism on both, looks for an event that is more likely on one of them, and counts that event in new runs.</p>
<p>In a chart the orange curve is what the worst pair of neighbours really needs and the blue one what is promised:
blue must not be below orange, and the gap between them is what the claim gives away. The dashed curve is what runs
alone have shown; it lies below both unless something is wrong.</p>
</html>
""")

_SECTION = Template("""<section id="$name">
<h2>$name: <span class="$verdict">$verdict</span></h2>
$figure
<div class="scroll"><table><tbody>
$facts
</tbody></table></div>
</section>
""")


def curves_of(audit: Audit) -> list[dict[str, Any]]:
    """Return the points of an audit's chart: what is claimed, what is exact, what runs have shown."""
    if audit.exact is None:
        return []
    points = []
    for point in audit.exact.curve:
        epsilon = float(point.epsilon)
        points.append({"curve": CLAIMED, "epsilon": epsilon, "delta": float(point.claimed)})
        points.append({"curve": EXACT, "epsilon": epsilon, "delta": float(point.high)})
        if audit.black_box is not None:
            shown = max(one.low - exp_up(point.epsilon) * one.high for one in audit.black_box.evidence)
            points.append({"curve": SEEN, "epsilon": epsilon, "delta": float(shown)})
    return points


def page(audits: Sequence[Audit], charts: Mapping[str, str], *, version: str, date: str) -> str:
    """Return the whole report. `charts` has an SVG for some of the names."""
    verdict = worst_of(audits)
    return _PAGE.substitute(
        version=escape(version),
        date=escape(date),
        verdict=verdict.value,
        summary=_SUMMARY[verdict],
        head="".join(f"<th>{escape(name)}</th>" for name in COLUMNS),
        rows="\n".join(_row(audit) for audit in audits),
        legend="<br>".join(f"<b>{name}</b>: {escape(said)}" for name, said in LEGEND.items()),
        sections="\n".join(_section(audit, charts.get(audit.name, "")) for audit in audits),
    )


def _row(audit: Audit) -> str:
    name, *cells, verdict = (escape(cell) for cell in as_row(audit))
    middle = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><td><a href="#{name}">{name}</a></td>{middle}<td class="{verdict}">{verdict}</td></tr>'


def _section(audit: Audit, chart: str) -> str:
    figure = f"<figure>{chart}</figure>" if chart else ""
    facts = "\n".join(
        f'<tr><th>{escape(name)}</th><td class="words">{escape(said)}</td></tr>' for name, said in _facts(audit)
    )
    return _SECTION.substitute(name=escape(audit.name), verdict=audit.verdict.value, figure=figure, facts=facts)


def _facts(audit: Audit) -> list[tuple[str, str]]:
    claim = audit.claim
    said = f"{float(claim.delta):.4g}-approximate {float(claim.rho):.4g}-zCDP"
    if claim.direct is not None:
        said += f", and ({float(claim.direct.epsilon):.4g}, {float(claim.direct.delta):.4g})-DP"
    facts = [("claim", said)]
    if audit.exact is not None:
        pair, finding = audit.exact.worst
        low, high = audit.exact.rho
        facts += [
            ("neighbours tried", f"{len(audit.exact.findings)} pairs"),
            ("worst pair", pair.name),
            (
                "failure event",
                f"probability {float(finding.failure):.4g} there, {float(audit.exact.failure):.4g} at most",
            ),
            ("cost of the rest", f"ρ = {finding.rho.given:.4g} there, outside of the failure event"),
            ("ρ needed at the claimed δ", f"between {low:.5g} and {high:.5g}, over all pairs"),
            ("used of the claim", f"{audit.exact.rho_used:.1%} of ρ, {audit.exact.delta_used:.1%} of δ"),
        ]
    if audit.black_box is not None:
        facts += [("evidence from runs", str(one)) for one in dict.fromkeys(audit.black_box.evidence)]
    return facts
