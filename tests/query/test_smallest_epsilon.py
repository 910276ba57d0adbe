"""Say the accuracy, get the ε: what is found does it, and a little less does not."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.query.planner import plan_of
from unlisted.query.questions import KINDS


@pytest.mark.parametrize(
    ("kind", "limit", "options"),
    [
        ("histogram", {"appears_at": 100}, {"items_per_user": 10}),
        ("histogram", {"within": 20}, {"items_per_user": 3}),
        ("histogram", {"within": 20, "appears_at": 90}, {"items_per_user": 3, "delta": "1e-6"}),
        ("top", {"appears_at": 100}, {"k": 5, "method": "gumbel"}),
        ("top_histogram", {"appears_at": 400}, {"items_per_user": 5}),
        ("labels", {"appears_at": 60}, {"items_per_user": 1}),
    ],
)
def test_it_does_it_and_a_little_less_does_not(kind: str, limit: dict[str, int], options: dict[str, Any]) -> None:
    found = ul.smallest_epsilon(kind, **limit, **options)

    def does(epsilon: Fraction) -> bool:
        said = {"items": ("item",), "epsilon": epsilon, **options}
        expected = plan_of(KINDS[kind.replace("_", "-")].read(said)).accuracy
        near = "within" not in limit or (expected.half_width or 0) <= limit["within"]
        return near and expected.needed[95] <= limit.get("appears_at", expected.needed[95])

    assert does(found.epsilon)
    assert not does(found.epsilon * Fraction(98, 100))
    assert repr(found).startswith("ε = ")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"question": "histogram"}, "appears_at is missing"),
        ({"question": "mean", "within": 3}, "one of histogram"),
        ({"question": "labels", "within": 3}, "no counts are released"),
        ({"question": "histogram", "within": 3, "epsilon": 1}, "left out where an accuracy is given"),
        ({"question": "histogram", "within": 0}, "within = 0"),
        ({"question": "histogram", "appears_at": 1, "items_per_user": 9}, "some ε up to 100"),
    ],
)
def test_what_cannot_be_is_refused(told: dict[str, Any], said: str) -> None:
    with pytest.raises(ul.InvalidArgumentError, match=said):
        ul.smallest_epsilon(**told)


def test_the_shell_previews_the_plan_that_does_it() -> None:
    words = ("preview", "histogram", "--items-per-user", 10, "--appears-at", 100)
    done = unlisted(*words, "--format", "json")
    assert done.said.startswith("The smallest ε that does it: ")
    plan = json.loads(done.data)
    assert plan["plan"]["users_needed"]["95"] <= 100
    assert plan["guarantee"]["epsilon"] == pytest.approx(float(done.said.split(": ")[1]))
    both = unlisted(*words, "--epsilon", 1)
    assert both.code == 2
    assert "--epsilon = '1'" in both.said


@pytest.mark.parametrize("kind", ["zcdp", "gaussian"])
def test_an_account_that_pays_plans_in_its_own_way(kind: str, tmp_path: Path) -> None:
    """What an account adds up may need a larger ε than a budget that is spent at once."""
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    said: dict[str, Any] = {"appears_at": 100, "items_per_user": 10}
    alone = ul.smallest_epsilon("histogram", **said)
    with ul.Ledger(url) as ledger:
        account = ledger.open("editors", dataset="searches", budget=ul.Budget(epsilon=50, delta=1e-6), kind=kind)
        paid = ul.smallest_epsilon("histogram", account=account, **said)
    assert paid.epsilon > alone.epsilon
    assert paid.plan.accuracy.needed[95] <= 100
    words = (
        "preview",
        "histogram",
        "--items-per-user",
        10,
        "--appears-at",
        100,
        "--ledger",
        url,
        "--account",
        "editors",
    )
    done = unlisted(*words, "--format", "json")
    assert float(done.said.splitlines()[0].split(": ")[1]) == pytest.approx(float(paid.epsilon))
    assert json.loads(done.data)["plan"]["users_needed"]["95"] <= 100


def test_a_large_epsilon_is_noted_and_not_forbidden() -> None:
    counts = ul.counts(["soup"], [900], items_per_user=1)
    assert "Note: an ε above 10 protects little" in repr(counts.histogram(epsilon=11))
    assert "Note" not in repr(counts.histogram(epsilon=10))


def test_a_delta_that_is_not_small_against_the_users_declared_is_noted(tmp_path: Path) -> None:
    note = "Note: δ = 1e-06 is not small against 1 / 1,000,000, the number of users declared"
    rows = pa.table({"user": ["a"], "dish": ["soup"]})

    def said(declared: int | None, delta: str) -> str:
        return repr(ul.table(rows, user="user", declared_users=declared).histogram("dish", epsilon=1, delta=delta))

    assert note in said(1_000_000, "1e-6")
    assert said(1_000_000, "1e-6").splitlines()[-1].endswith("prefer at most 1e-07")
    assert "Note" not in said(1_000_000, "1e-7")
    assert "Note" not in said(None, "1e-6")
    # It is no part of the question: what is stored of it stays its answer.
    plans = [ul.table(rows, user="user", declared_users=n).histogram("dish", epsilon=1) for n in (None, 10**9)]
    assert plans[0].as_dict() == plans[1].as_dict()
    with pytest.raises(ul.InvalidArgumentError, match="declared_users = 0"):
        ul.table(rows, user="user", declared_users=0)

    words = ("preview", "histogram", "--epsilon", 1, "--delta", "1e-6", "--declared-users", 1_000_000)
    assert note in unlisted(*words).data.decode()
    assert note in unlisted(*words, "--format", "json").said


def test_a_data_set_of_the_project_declares_its_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dishes.csv").write_text("user,dish\n1,soup\n")
    told = '[datasets.dishes]\nsource = "dishes.csv"\nuser = "user"\ndeclared_users = 1000000\n'
    (tmp_path / "unlisted.toml").write_text(told)
    monkeypatch.chdir(tmp_path)
    assert "not small against 1 / 1,000,000" in repr(
        ul.dataset("dishes").histogram("dish", epsilon=1, delta="1e-6")
    )
    done = unlisted("histogram", "dishes", "dish", "--epsilon", 1, "--delta", "1e-6")
    assert done.code == 0
    assert "not small against 1 / 1,000,000" in done.said


def test_a_total_is_asked_for_by_its_width_only() -> None:
    found = ul.smallest_epsilon("users", within=20)
    assert found.plan.accuracy.half_width is not None
    assert found.plan.accuracy.half_width <= 20
    with pytest.raises(ul.InvalidArgumentError, match="say within"):
        ul.smallest_epsilon("users", appears_at=20)


def test_columns_are_named_and_not_numbered() -> None:
    with pytest.raises(ul.InvalidArgumentError, match="named, not numbered"):
        ul.table("rows.csv", user=0)  # type: ignore[arg-type]
