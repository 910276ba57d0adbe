"""The exact audit of a subject: every pair of neighbours, by their laws, and the whole curve δ(ε)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from unlisted.audit.divergence import Likelihoods, Sides, hockey_stick
from unlisted.audit.laws.output_law import ALL, OutputLaw, decimal_up
from unlisted.audit.lemma import PairFinding, Verdict, judge
from unlisted.audit.subject import Data, Pair, Subject
from unlisted.errors import InvalidArgumentError
from unlisted.privacy.convert import delta_cks_up
from unlisted.privacy.guarantee import Guarantee

Progress = Callable[[int], None]
"""Told how many pairs were just done."""

_CURVE_POINTS = 24


@dataclass(frozen=True)
class CurvePoint:
    """At this ε the claim allows `claimed`, and the worst pair needs at least `low` and at most `high`."""

    epsilon: Fraction
    claimed: Decimal
    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class ExactAudit:
    """What exact laws say about a claim, over all pairs that were tried."""

    claim: Guarantee
    findings: tuple[tuple[Pair, PairFinding], ...]
    curve: tuple[CurvePoint, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of any pair; a curve above the claim is one too."""
        return Verdict.worst(
            [
                *(finding.verdict for _, finding in self.findings),
                *(Verdict.violated for point in self.curve if point.low > point.claimed),
            ]
        )

    @property
    def worst(self) -> tuple[Pair, PairFinding]:
        """The pair with the worst verdict, and of those the one that uses most of the claim."""
        return max(self.findings, key=lambda found: (found[1].verdict.badness, self._used(found[1])))

    def _used(self, finding: PairFinding) -> float:
        return max(_share(finding.rho.low, self.claim.rho), _share(finding.failure, self.claim.delta))

    @property
    def rho(self) -> tuple[float, float]:
        """The ρ that is needed at the claimed δ lies between these."""
        rhos = [finding.rho for _, finding in self.findings]
        return max(one.low for one in rhos), max(one.high for one in rhos)

    @property
    def failure(self) -> Decimal:
        """The chance of an outcome that only one of two neighbours can produce, at its highest."""
        return max(finding.failure for _, finding in self.findings)

    @property
    def rho_used(self) -> float:
        """The share of the claimed ρ that is needed for sure."""
        return _share(self.rho[0], self.claim.rho)

    @property
    def delta_used(self) -> float:
        """The share of the claimed δ that the failure event uses."""
        return _share(self.failure, self.claim.delta)


def exact_audit(subject: Subject, progress: Progress | None = None) -> ExactAudit:
    """Compute the laws of all neighbours of a subject and hold its claim against them."""
    law = subject.law
    if law is None:
        raise InvalidArgumentError("subject", subject.name, "one with a law", "Use the black box for others.")
    laws: dict[str, OutputLaw] = {}

    def law_of(data: Data) -> OutputLaw:
        key = repr(data)
        if key not in laws:
            laws[key] = law(data)
        return laws[key]

    epsilons = _epsilons(subject.claim)
    bounds = [(Decimal(0), Decimal(0))] * len(epsilons)
    findings = []
    for pair in subject.pairs():
        sides = Likelihoods.both_ways(law_of(pair.left), law_of(pair.right))
        findings.append((pair, judge(sides, subject.claim)))
        bounds = [_wider(so_far, one) for so_far, one in zip(bounds, _curve(sides, epsilons), strict=True)]
        if progress is not None:
            progress(1)
    if not findings:
        raise InvalidArgumentError("pairs", "none", "at least one pair of neighbours")
    curve = (
        CurvePoint(epsilon, claimed_delta(subject.claim, epsilon), low, min(ALL, high))
        for epsilon, (low, high) in zip(epsilons, bounds, strict=True)
    )
    return ExactAudit(subject.claim, tuple(findings), tuple(curve))


def claimed_delta(claim: Guarantee, epsilon: Fraction) -> Decimal:
    """Return the smallest δ that a claim promises at an ε, by conversion or by its own (ε, δ)."""
    converted = claim.delta + delta_cks_up(claim.rho, epsilon)
    if claim.direct is not None and claim.direct.epsilon <= epsilon:
        converted = min(converted, claim.direct.delta)
    return min(ALL, decimal_up(converted))


def _epsilons(claim: Guarantee) -> list[Fraction]:
    """Return where the curve is drawn: from 0 to somewhat beyond the ε that is promised at twice the claim's δ."""
    at_delta = min(2 * claim.delta, Fraction(1, 2)) or Fraction(1, 10**6)
    farthest = max(claim.epsilon(at_delta), Fraction(1, 100)) * Fraction(5, 4)
    even = [farthest * i / (_CURVE_POINTS - 1) for i in range(_CURVE_POINTS)]
    own = [claim.direct.epsilon] if claim.direct is not None and claim.direct.epsilon <= farthest else []
    return sorted({*even, *own})


def _curve(sides: Sides, epsilons: list[Fraction]) -> list[tuple[Decimal, Decimal]]:
    return [_wider(*(hockey_stick(side, epsilon) for side in sides)) for epsilon in epsilons]


def _wider(one: tuple[Decimal, Decimal], other: tuple[Decimal, Decimal]) -> tuple[Decimal, Decimal]:
    return max(one[0], other[0]), max(one[1], other[1])


def _share(needed: float | Decimal, claimed: Fraction) -> float:
    """Return a ratio for display."""
    if claimed:
        return float(needed) / float(claimed)
    return float("inf") if needed else 0.0
