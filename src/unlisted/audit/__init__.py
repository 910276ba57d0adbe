"""The lemma as something that runs, and a machine that tries to break us."""

from unlisted.audit.audits import Audit, audit
from unlisted.audit.black_box import BlackBox, black_box
from unlisted.audit.exact import ExactAudit, exact_audit
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.lemma import PairFinding, Verdict, examine
from unlisted.audit.subject import BOTTOM, Pair, Subject

__all__ = [
    "BOTTOM",
    "Audit",
    "BlackBox",
    "ExactAudit",
    "OutputLaw",
    "Pair",
    "PairFinding",
    "Subject",
    "Verdict",
    "audit",
    "black_box",
    "exact_audit",
    "examine",
]
