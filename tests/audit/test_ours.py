"""The quick audit: every mechanism of ours holds on every pair, and each claim a tenth smaller does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from unlisted.audit.audits import audit
from unlisted.audit.exact import ExactAudit, claimed_delta, exact_audit
from unlisted.audit.lemma import Verdict
from unlisted.audit.subject import Subject
from unlisted.audit.subjects.catalogue import OURS
from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import Guarantee

TRIALS = 20_000


def with_less(subject: Subject, audited: ExactAudit) -> Subject:
    """Return the same mechanism with nine tenths of its δ, on the pair that uses most of it."""
    worst, _ = max(audited.findings, key=lambda found: found[1].failure)
    claim = Guarantee(subject.claim.rho, subject.claim.delta * Fraction(9, 10))
    return replace(subject, claim=claim, pairs=lambda: [worst])


@pytest.mark.parametrize("name", OURS)
def test_ours_hold_and_would_not_with_less(name: str) -> None:
    subject = OURS[name]()
    both = audit(subject, trials=TRIALS)
    assert both.verdict is Verdict.holds
    assert both.exact is not None
    assert both.black_box is not None
    assert both.black_box.against is None
    # What runs have shown is no more than what is needed, and what is needed no more than what is claimed.
    assert float(both.black_box.rho) <= both.exact.rho[1]
    assert all(point.low <= point.claimed for point in both.exact.curve)
    if both.exact.delta_used > 0.91:
        assert exact_audit(with_less(subject, both.exact)).verdict is Verdict.violated


def test_most_claims_are_used_up() -> None:
    """Not a promise, but where it fails something is loose: a pair that was left out, or a constant."""
    audited = exact_audit(OURS["histogram-replace"]())
    assert audited.rho_used > 0.99
    assert audited.delta_used == pytest.approx(1)


def test_a_subject_without_a_law_is_for_the_black_box() -> None:
    subject = replace(OURS["top-k"](), law=None)
    with pytest.raises(InvalidArgumentError, match="black box"):
        exact_audit(subject)
    assert audit(subject, trials=2000).verdict is Verdict.open


def test_no_runs_at_all() -> None:
    both = audit(OURS["top-k"](), trials=0)
    assert both.black_box is None
    assert both.verdict is Verdict.holds


def test_no_pairs_prove_nothing() -> None:
    with pytest.raises(InvalidArgumentError, match="pair"):
        exact_audit(replace(OURS["top-k"](), pairs=list))


def test_the_claimed_curve_takes_the_better_statement() -> None:
    claim = OURS["histogram-laplace"]().claim
    assert claim.direct is not None
    before, at = (claimed_delta(claim, claim.direct.epsilon * share) for share in (Fraction(9, 10), Fraction(1)))
    assert float(at) == pytest.approx(float(claim.direct.delta))
    assert before > 10 * at


def test_progress_adds_up_to_one() -> None:
    told: list[float] = []
    audit(OURS["top-k"](), trials=2000, progress=told.append)
    assert sum(told) == pytest.approx(1, abs=0.3)
