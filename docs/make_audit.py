"""Run the long audit and put its tables, with their date, into docs/audit-results.md.

Every mechanism is run ten million times on either neighbour, and every mutant is audited too. The script leaves
with 1 if a claim is false or a mutant is caught by nobody; the page is written anyway, to be looked at.
`python docs/make_audit.py --trials N` runs fewer times.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path

from unlisted import __version__
from unlisted.audit import Verdict, audit
from unlisted.audit.audits import Audit, worst_of
from unlisted.audit.mutants.catalogue import COLUMNS as CAUGHT_COLUMNS
from unlisted.audit.mutants.catalogue import Caught, all_mutants, catch
from unlisted.audit.report import COLUMNS, LEGEND, as_markdown, as_row
from unlisted.audit.subjects.catalogue import OURS

PAGE = Path(__file__).parent / "audit-results.md"
TRIALS = 10_000_000

_PAGE = """# Audit results

Written by `make audit` on {date}, with unlisted {version}; every mechanism was run {trials:,} times on either
neighbour. [The audit](audit.md) says what is audited and how.

## Our mechanisms

{audits}

{legend}

How much of the claims is used, by the worst pair of neighbours:

{tightness}

## Mutants: mechanisms that are wrong on purpose

Each breaks its claim in one way. At least one auditor catches each, and none flags its repair, which is not shown.
The exact auditor has distributions for some of them only; the black box gets a few thousand runs of each.

{caught}
"""


def main(arguments: list[str]) -> int:
    """Audit everything and write the page."""
    parser = ArgumentParser(description="Run the long audit.")
    parser.add_argument("--trials", type=int, default=TRIALS)
    trials = parser.parse_args(arguments).trials
    audits = [_told(audit(subject(), trials)) for subject in OURS.values()]
    caught = [catch(mutant) for mutant in all_mutants()]
    PAGE.write_text(page(audits, caught, trials), encoding="utf-8")
    missed = [one.name for one in caught if not one.by_anyone]
    sys.stdout.write(f"{len(caught)} mutants, not caught: {', '.join(missed) or 'none'}\n")
    return 1 if missed or worst_of(audits) is Verdict.violated else 0


def page(audits: list[Audit], caught: list[Caught], trials: int) -> str:
    """Return the page."""
    return _PAGE.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        version=__version__,
        trials=trials,
        audits=as_markdown(COLUMNS, map(as_row, audits)),
        legend="\n".join(f"- **{name}**: {said}" for name, said in LEGEND.items()),
        tightness=as_markdown(
            ("mechanism", "ρ used", "δ used", "pairs", "worst pair"),
            (_tightness(one) for one in audits if one.exact is not None),
        ),
        caught=as_markdown(CAUGHT_COLUMNS, (one.as_row() for one in caught)),
    )


def _tightness(audited: Audit) -> tuple[str, ...]:
    exact = audited.exact
    if exact is None:
        return ()
    pair, _ = exact.worst
    used = (f"{exact.rho_used:.1%}", f"{exact.delta_used:.1%}")
    return audited.name, *used, str(len(exact.findings)), f"`{pair.name}`"


def _told(audited: Audit) -> Audit:
    sys.stdout.write(f"{audited.name}: {audited.verdict.value}\n")
    sys.stdout.flush()
    return audited


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
