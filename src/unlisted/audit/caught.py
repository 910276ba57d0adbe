"""Which auditor catches which mistake: a table that an audit has to earn its trust with."""

from __future__ import annotations

from dataclasses import dataclass

from unlisted.audit.black_box import black_box
from unlisted.audit.broken.mistake import Mistake
from unlisted.audit.exact import exact_audit
from unlisted.audit.lemma import Verdict

COLUMNS = ("mistake", "what is wrong", "exact law", "runs")


@dataclass(frozen=True)
class Caught:
    """Who caught a mistake; `exact` is None where no law was written down."""

    name: str
    wrong: str
    exact: bool | None
    ran: bool

    @property
    def by_anyone(self) -> bool:
        """Whether at least one auditor saw it."""
        return bool(self.exact) or self.ran

    def as_row(self) -> tuple[str, ...]:
        """Return a line of the table."""
        exact = "" if self.exact is None else _seen(self.exact)
        return self.name, self.wrong, exact, _seen(self.ran)


def catch(mistake: Mistake) -> Caught:
    """Set both auditors on a mistake."""
    subject = mistake.subject
    exact = None if subject.law is None else exact_audit(subject).verdict is Verdict.violated
    ran = black_box(subject, trials=mistake.trials).against is not None
    return Caught(subject.name, mistake.wrong, exact, ran)


def _seen(caught: bool) -> str:
    return "caught" if caught else "not seen"
