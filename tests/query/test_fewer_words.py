"""What need not be said, and what is said at once where something is wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.shell import unlisted

import unlisted as ul

ROWS = pa.table({"user": list(range(300)), "dish": ["soup"] * 300})
TABLE = ul.table(ROWS, user="user")


def test_delta_has_a_default_that_every_plan_prints() -> None:
    assert ul.Budget(epsilon=1).delta == Fraction(1, 10**8)
    plan = TABLE.histogram("dish", epsilon=1)
    assert plan.at_delta == Fraction(1, 10**8)
    assert "δ = 1e-08 (what is taken unless said): how probable it may be that the guarantee fails." in repr(plan)
    assert "δ = 1e-06: " in repr(TABLE.labels("dish", epsilon=1, delta="1e-6"))
    shown = unlisted("preview", "histogram", "--epsilon", 1)
    assert shown.code == 0
    assert "δ = 1e-08" in shown.text


@pytest.mark.parametrize("kind", ["histogram", "labels", "top_histogram"])
def test_amounts_are_the_same_as_a_budget(kind: str) -> None:
    ask = getattr(TABLE, kind)
    assert ask("dish", epsilon=1) == ask("dish", budget=ul.Budget(epsilon=1, delta="1e-8"))
    assert ask("dish", rho="0.1", delta="1e-7") == ask("dish", budget=ul.Budget(rho="0.1", delta="1e-7"))
    counted = ul.counts(["soup"], [300], items_per_user=1)
    if kind != "labels":
        ask = getattr(counted, kind)
        assert ask(epsilon=1) == ask(budget=ul.Budget(epsilon=1))


def test_a_ranking_takes_amounts_or_a_price_for_each_draw() -> None:
    assert TABLE.top("dish", k=3, epsilon=1) == TABLE.top("dish", k=3, budget=ul.Budget(epsilon=1))
    assert TABLE.top("dish", k=3, per_item_epsilon="0.1").at_delta == Fraction(2, 10**8)
    with pytest.raises(ul.InvalidArgumentError, match="Say one of the two"):
        TABLE.top("dish", k=3, epsilon=1, per_item_epsilon="0.1")


def test_a_budget_and_amounts_are_one_too_many() -> None:
    with pytest.raises(ul.InvalidArgumentError, match="epsilon = 2 is not allowed: it must be left out"):
        TABLE.histogram("dish", budget=ul.Budget(epsilon=1), epsilon=2)
    with pytest.raises(ul.InvalidArgumentError, match="rho = 1 is not allowed: it must be left out with epsilon"):
        TABLE.histogram("dish", epsilon=1, rho=1)


def test_all_that_is_wrong_is_said_at_once_in_python() -> None:
    with pytest.raises(ul.InvalidArgumentError) as refused:
        TABLE.histogram("dish", epsilon=-1, items_per_user=0, noise="loud", max_label_bytes=0)  # type: ignore[arg-type]
    said = [one.argument for one in refused.value.problems]
    assert said == ["epsilon", "items_per_user", "max_label_bytes", "noise"]
    assert len(str(refused.value).splitlines()) == 4


def test_all_that_is_missing_or_wrong_is_said_at_once_in_the_shell() -> None:
    done = unlisted("top", "searches.csv", "--items-per-user", 0)
    assert done.code == 2
    starts = [line.removeprefix("unlisted: ").split()[0] for line in done.said.splitlines()]
    assert starts == ["--user", "--item", "-k", "--epsilon", "--items-per-user"]


def test_plans_are_checked_against_the_schema_when_they_are_made() -> None:
    for told, said in (({"item": "desert"}, "desert"), ({"item": "dish", "where": "desert = 'pie'"}, "desert")):
        for kind in ("histogram", "labels", "top_histogram"):
            with pytest.raises(ul.InvalidArgumentError, match=said):
                getattr(TABLE, kind)(epsilon=1, **told)
    with pytest.raises(ul.InvalidArgumentError, match="user"):
        ul.table(ROWS, user="guest").histogram("dish", epsilon=1)


def test_a_stored_answer_needs_no_source_to_be_planned(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("user,dish\n" + "".join(f"{user},soup\n" for user in range(300)))
    with ul.Ledger(str(tmp_path / "budget.db"), create=True) as ledger:
        account = ledger.open("me", dataset="kitchen", budget=ul.Budget(rho=1, delta="1e-6"))
        table = ul.table(source, user="user")
        first = table.histogram("dish", epsilon=1, account=account).run(idempotency_key="mine")
        source.unlink()
        again = ul.table(source, user="user").histogram("dish", epsilon=1, account=account)
        assert again.run(idempotency_key="mine").rows == first.rows
        with pytest.raises(ul.InvalidArgumentError):
            ul.table(source, user="user").histogram("dish", epsilon=2, account=account).run()


def test_plans_say_epsilon_first_and_what_becomes_of_heavy_users() -> None:
    said = repr(TABLE.histogram("dish", epsilon=1, items_per_user=10))
    assert "\nGuarantee: (1, 1e-08)-DP; also " in said
    assert (
        "\nProtects: every user with all their rows, present or absent. Of one with more, at most 10 items "
        in said
    )
    assert "however many items they have" in repr(TABLE.top("dish", k=3, epsilon=1))
    counted = ul.counts(["soup"], [300], items_per_user=4)
    assert "who was declared to count for at most 4 items" in repr(counted.histogram(epsilon=1))
