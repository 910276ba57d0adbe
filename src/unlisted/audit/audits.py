"""One subject under both auditors, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from unlisted.audit.black_box import BlackBox, black_box
from unlisted.audit.exact import ExactAudit, exact_audit
from unlisted.audit.lemma import Verdict
from unlisted.audit.subject import Subject
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import whole

Progress = Callable[[float], None]
"""Told which share of an audit was just done."""


@dataclass(frozen=True)
class Audit:
    """What both auditors found; `exact` is None where the law is not known, `black_box` where nothing was run."""

    name: str
    claim: Guarantee
    exact: ExactAudit | None
    black_box: BlackBox | None

    @property
    def verdict(self) -> Verdict:
        """Violated if either auditor says so; held only if exact laws show it."""
        if self.black_box is not None and self.black_box.against is not None:
            return Verdict.violated
        return Verdict.open if self.exact is None else self.exact.verdict

    @property
    def at_delta(self) -> Fraction:
        """The δ at which an ε is given for the claim: the one that the black box attacked at."""
        if self.black_box is not None:
            return self.black_box.at_delta
        return (
            self.claim.direct.delta if self.claim.direct is not None else min(2 * self.claim.delta, Fraction(1, 2))
        )

    @property
    def epsilon(self) -> Fraction:
        """The ε that the claim promises there."""
        return self.claim.epsilon(self.at_delta)


def audit(subject: Subject, trials: int = 100_000, progress: Progress | None = None) -> Audit:
    """Audit a subject by its exact law, if it has one, and by running it; `trials=0` leaves the runs out."""
    told = progress or (lambda _: None)
    parts = (subject.law is not None) + (whole("trials", trials, at_least=0) > 0)
    exact, ran = None, None
    if subject.law is not None:
        pairs = max(1, sum(1 for _ in subject.pairs()))
        exact = exact_audit(subject, lambda done: told(done / pairs / parts))
    if trials:
        ran = black_box(subject, trials=trials, progress=lambda done: told(done / (2 * trials) / parts))
    return Audit(subject.name, subject.claim, exact, ran)


def worst_of(audits: Iterable[Audit]) -> Verdict:
    """Return the worst verdict of several audits."""
    return Verdict.worst(one.verdict for one in audits)
