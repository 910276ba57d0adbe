"""Names in a ledger, prices, thresholds and noise are those of version 0.1: stored answers are found again.

A ledger knows a question by a digest. If that changed, a repeat that is stored would be charged once more and an
older client would be refused. `UNLISTED_UPDATE_GOLDEN=1` writes new questions into the file, and refuses to change
an old one's digest.
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
KEPT = ("mechanism", "threshold", "noise", "half_width_95", "users_needed", "reason")


def said(plan: ul.Plan) -> dict[str, Any]:
    """What must not change: the digest, the guarantee, and how the question is answered."""
    assert plan.data is not None
    preview = plan.preview()
    return {
        "digest": plan.bill(plan.data).question,
        "complete": preview["complete"],
        "guarantee": preview["guarantee"],
        **{name: preview["plan"][name] for name in KEPT},
    }


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("UNLISTED_UPDATE_GOLDEN") == "1":
        now = {name: said(plan) for name, plan in plans()}
        moved = [name for name in found if name in now and found[name]["digest"] != now[name]["digest"]]
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
