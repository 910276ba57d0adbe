"""Names in a ledger, prices, thresholds and noise stay what they are, and stored answers of version 0.1 are found.

A ledger knows a question by a digest. If that changed, a repeat that is stored would be charged once more and an
older client would be refused. Where another mechanism answers a question now, its digest of version 0.1 is that of
`Plan.formerly`. `UNLISTED_UPDATE_GOLDEN=1` writes new questions into the file, and refuses to lose a digest of
version 0.1.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.query.golden_questions import plans

import unlisted as ul

GOLDEN = Path(__file__).parent.parent / "golden" / "plans.json"
SINCE_0_1 = ("find then count", "by hints", "by find", "without a bound")
"""Parts of the names of questions that version 0.1 did not have."""

KEPT = ("mechanism", "threshold", "noise", "half_width_95", "users_needed", "reason")


def said(plan: ul.Plan) -> dict[str, Any]:
    """What must not change: the digest, the guarantee, and how the question is answered."""
    assert plan.data is not None
    preview, digest = plan.preview(), plan.charge_for(plan.data).question
    before = plan.formerly() if plan.formerly is not None else None
    formerly = digest if before is None else before.charge_for(plan.data).question
    return {
        "digest": digest,
        **({} if formerly == digest else {"formerly": formerly}),
        "complete": preview["complete"],
        "guarantee": preview["guarantee"],
        **{name: preview["plan"][name] for name in KEPT},
    }


def first_digest(one: dict[str, Any]) -> Any:
    """The digest by which version 0.1 knew a question."""
    return one.get("formerly", one["digest"])


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("UNLISTED_UPDATE_GOLDEN") == "1":
        now = {name: said(plan) for name, plan in plans()}
        moved = [name for name in found if name in now and first_digest(found[name]) != first_digest(now[name])]
        moved = [name for name in moved if not any(part in name for part in SINCE_0_1)]
        assert not moved, f"stored answers to these would not be found any more: {moved}"
        GOLDEN.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return now
    return found


def test_every_plan_is_the_golden_one(golden: dict[str, Any]) -> None:
    now = {name: said(plan) for name, plan in plans()}
    assert now.keys() == golden.keys()
    for name, found in now.items():
        assert found == golden[name], name


def test_questions_share_a_digest_only_if_they_are_answered_in_the_same_way(golden: dict[str, Any]) -> None:
    answers: dict[str, Any] = {}
    for one in golden.values():
        how = {name: value for name, value in one.items() if name != "reason"}
        assert answers.setdefault(one["digest"], how) == how
    assert len(answers) > 0.9 * len(golden)
