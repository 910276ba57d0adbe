"""Run the long audit and put its tables, with their dates, into docs/audit-results.md.

Every mechanism is run ten million times on either neighbour, and every mutant is audited too. The script leaves
with 1 if a claim is false or a mutant is caught by nobody; the page is written anyway, to be looked at.

It is long. What is done is kept in docs/data/audit.json after each mechanism, so a run that was broken off goes
on with `--resume`, which leaves out what was audited today as often; `--only NAME…` audits some again. A mechanism
that the record does not have is not on the page, and the page says so. `--trials N` runs fewer times.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unlisted import __version__
from unlisted.audit import Verdict, audit
from unlisted.audit.audits import Audit
from unlisted.audit.mutants.catalogue import COLUMNS as CAUGHT_COLUMNS
from unlisted.audit.mutants.catalogue import MUTANTS, all_mutants, catch
from unlisted.audit.report import COLUMNS, LEGEND, as_markdown, as_row
from unlisted.audit.subjects.catalogue import OURS

PAGE = Path(__file__).parent / "audit-results.md"
RECORD = Path(__file__).parent / "data" / "audit.json"
TRIALS = 10_000_000

Record = dict[str, dict[str, Any]]
"""`audits` and `mutants`, by name: what the tables say of each, how often it was run, and when."""

_PAGE = """# Audit results

Written by `make audit`, with unlisted {version}. Each line says how often a mechanism was run on either neighbour,
and when. [The audit](audit.md) says what is audited and how.{missing}

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
    """Audit what is asked for, keep each result, and write the page."""
    parser = ArgumentParser(description="Run the long audit.")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--resume", action="store_true", help="leave out what was audited today as often")
    parser.add_argument("--only", nargs="*", choices=[*OURS, "mutants"], metavar="NAME", help="or `mutants`")
    chosen = parser.parse_args(arguments)
    record = read()
    for name, subject in OURS.items():
        if _is_due(name, record, chosen):
            record["audits"][name] = _audited(audit(subject(), chosen.trials), chosen.trials)
            _keep(record, f"{name}: {record['audits'][name]['verdict']}")
    if chosen.only is None or "mutants" in chosen.only:
        caught = [catch(mutant) for mutant in all_mutants()]
        record["mutants"] = {one.name: {"row": one.as_row(), "caught": one.by_anyone} for one in caught}
        missed = [one.name for one in caught if not one.by_anyone]
        _keep(record, f"{len(caught)} mutants, not caught: {', '.join(missed) or 'none'}")
    false = any(one["verdict"] == Verdict.violated.value for one in record["audits"].values())
    return 1 if false or not all(one["caught"] for one in record["mutants"].values()) else 0


def read() -> Record:
    """Return what was audited so far, of what is still there."""
    if not RECORD.exists():
        return {"audits": {}, "mutants": {}}
    record: Record = json.loads(RECORD.read_text(encoding="utf-8"))
    record["audits"] = {name: one for name, one in record["audits"].items() if name in OURS}
    return record


def page(record: Record) -> str:
    """Return the page."""
    audits = [record["audits"][name] for name in OURS if name in record["audits"]]
    return _PAGE.format(
        version=__version__,
        missing=_missing(record),
        audits=as_markdown((*COLUMNS, "runs", "on"), (_row(one) for one in audits)),
        legend="\n".join(f"- **{name}**: {said}" for name, said in LEGEND.items()),
        tightness=as_markdown(
            ("mechanism", "ρ used", "δ used", "pairs", "worst pair"),
            (one["tightness"] for one in audits if one["tightness"]),
        ),
        caught=as_markdown(CAUGHT_COLUMNS, (one["row"] for one in record["mutants"].values())),
    )


def _missing(record: Record) -> str:
    """Say what is audited by the tests, with fewer runs, and was not yet by this script."""
    left_out = [name for name in OURS if name not in record["audits"]]
    left_out += ["some of the mutants"] if len(record["mutants"]) < len(MUTANTS) else []
    if not left_out:
        return ""
    return f"\n\nNot run at this length yet, only with the fewer runs of the tests: {', '.join(left_out)}."


def _is_due(name: str, record: Record, chosen: Namespace) -> bool:
    if chosen.only is not None:
        return name in chosen.only
    done = record["audits"].get(name)
    return not (chosen.resume and done and done["day"] == _today() and done["trials"] >= chosen.trials)


def _audited(audited: Audit, trials: int) -> dict[str, Any]:
    return {
        "row": as_row(audited),
        "tightness": _tightness(audited),
        "verdict": audited.verdict.value,
        "trials": trials,
        "day": _today(),
    }


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    return *one["row"], f"{one['trials']:,}", one["day"]


def _tightness(audited: Audit) -> tuple[str, ...]:
    exact = audited.exact
    if exact is None:
        return ()
    pair, _ = exact.worst
    used = (f"{exact.rho_used:.1%}", f"{exact.delta_used:.1%}")
    return audited.name, *used, str(len(exact.findings)), f"`{pair.name}`"


def _keep(record: Record, said: str) -> None:
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
