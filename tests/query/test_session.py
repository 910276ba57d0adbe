"""A session: a budget in ε that nothing asked through it can exceed, and from which nothing is lost by a slip."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unlisted as ul
from unlisted.privacy.filter import EpsilonFilter
from unlisted.privacy.guarantee import EpsilonDelta

ROWS = pa.table(
    {"user": list(range(400)) * 2, "dish": ["soup"] * 400 + ["bread"] * 400, "place": ["home", "out"] * 400}
)


@pytest.fixture
def session() -> ul.Session:
    return ul.Session(ul.table(ROWS, user="user"), ul.Budget(epsilon=3))


def test_asking_again_returns_the_same_release_at_no_cost(session: ul.Session) -> None:
    first = session.histogram("dish", epsilon=1).run()
    assert session.spent == 1
    assert session.histogram("dish", epsilon=1).run() is first
    plan = session.histogram("dish", epsilon=1)
    assert plan.run() is plan.run() is first
    assert session.spent == 1
    assert session.releases == [first]


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": "1.1"},
        {"epsilon": 1, "where": "place = 'home'"},
        {"epsilon": 1, "items_per_user": 1},
        {"epsilon": 1, "delta": "1e-9"},
    ],
)
def test_another_question_is_another_release(session: ul.Session, other: dict[str, Any]) -> None:
    session.histogram("dish", epsilon=1).run()
    session.histogram("dish", **other).run()
    assert session.spent == 1 + Fraction(other["epsilon"])


def test_an_over_spend_is_refused_in_plain_words_and_costs_nothing(session: ul.Session) -> None:
    session.histogram("dish", epsilon=2).run()
    with pytest.raises(ul.BudgetRefusedError) as refused:
        session.labels("dish", epsilon="1.5").run()
    assert str(refused.value) == (
        "The question costs ε = 1.5, but only ε = 1 of 3 is left. Ask with a smaller ε; nothing was charged."
    )
    assert session.left == 1
    session.labels("dish", epsilon=1).run()
    assert session.left == 0
    assert len(session.histogram("dish", epsilon=2).run()) == 2, "what was answered stays free"


def test_delta_is_shared_out_by_epsilon_so_that_it_never_runs_out_first(session: ul.Session) -> None:
    for at, share in enumerate(("0.5", "1.25", "0.75", "0.5")):
        session.histogram("dish", epsilon=share, where=f"user > {at}").run()
    assert session.left == 0
    assert session._filter.spent.delta == session._filter.total.delta == Fraction(1, 10**8)


def test_a_delta_that_was_said_counts_as_said(session: ul.Session) -> None:
    session.histogram("dish", epsilon=1, delta="9e-9").run()
    with pytest.raises(ul.BudgetRefusedError, match="costs δ = 9e-09, but only δ = 1e-09 of 1e-08 is left"):
        session.labels("dish", epsilon=1, delta="9e-9").run()
    assert session.spent == 1


def test_a_question_in_rho_costs_the_epsilon_that_it_is(session: ul.Session) -> None:
    plan = session.labels("dish", rho="0.01", delta="1e-9")
    plan.run()
    assert session.spent == plan.guarantee.epsilon(Fraction(2, 10**9))


def test_plans_use_the_exact_analysis_as_they_do_without_an_account(session: ul.Session) -> None:
    inside = session.histogram("dish", epsilon=1, delta="1e-9", items_per_user=10)
    outside = ul.table(ROWS, user="user").histogram("dish", epsilon=1, delta="1e-9", items_per_user=10)
    assert inside.mechanism == outside.mechanism
    assert "Paid by: the session, ε = 0 of 3 spent" in repr(inside)


def test_what_is_refused_before_rows_are_touched_costs_nothing(session: ul.Session) -> None:
    with pytest.raises(ul.InvalidArgumentError, match="a column of the source"):
        session.histogram("dessert", epsilon=1)
    with pytest.raises(ul.InvalidArgumentError, match="where"):
        session.histogram("dish", epsilon=1, where="dessert = 'pie'")
    with pytest.raises(ul.InvalidArgumentError, match="epsilon is missing"):
        session.histogram("dish")
    with pytest.raises(ul.InvalidArgumentError, match="adjacency"):
        session.histogram("dish", epsilon=1, adjacency="replace")
    with pytest.raises(ul.InvalidArgumentError, match="per_item_epsilon"):
        session.top("dish", k=2, per_item_epsilon="0.1")
    with pytest.raises(ul.InvalidArgumentError, match="The session pays"):
        session.plan(ul.table(ROWS, user="user").histogram("dish", epsilon=1), account=object())  # type: ignore[arg-type]
    assert session.spent == 0


def test_what_fails_after_rows_were_touched_stays_charged(
    session: ul.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = session.histogram("dish", epsilon=1, items_per_user=1)
    session.histogram("dish", epsilon="0.5", items_per_user=1)
    plan._rehearse(plan.data)  # type: ignore[arg-type]

    def fails(*_: object) -> None:
        raise RuntimeError("a row")

    monkeypatch.setattr(type(plan.mechanism), "run", fails)
    with pytest.raises(ul.ChargedFailureError, match="stays charged with ε = 1"):
        plan.run()
    assert session.spent == 1
    assert session.releases == []


def test_threads_that_ask_the_same_are_answered_once(session: ul.Session) -> None:
    found: list[ul.Release] = []
    plans = [session.histogram("dish", epsilon=1) for _ in range(4)]
    threads = [threading.Thread(target=lambda plan=plan: found.append(plan.run())) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
    assert session.spent == 1


def test_it_shows_a_bar_and_what_was_asked(session: ul.Session) -> None:
    assert repr(session) == f"Session: {'░' * 24} ε = 0 of 3 spent, δ = 0 of 1e-08"
    session.histogram("dish", epsilon=1, where="place = '<b>'").run()
    first, second = repr(session).splitlines()
    assert first.startswith(f"Session: {'█' * 8}{'░' * 16} ε = 1 of 3 spent")
    assert second == "  ε = 1  histogram of dish where place = '<b>'"
    page = session._repr_html_()
    assert "<b>" not in page
    assert "width:33.33%" in page


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"budget": ul.Budget(rho=1)}, "a budget in ε"),
        ({}, "epsilon is missing"),
        ({"epsilon": 1, "adjacency": "both"}, "adjacency"),
        ({"epsilon": 1, "budget": ul.Budget(epsilon=1)}, "left out with a budget"),
    ],
)
def test_a_session_needs_a_budget_in_epsilon(told: dict[str, Any], said: str) -> None:
    with pytest.raises(ul.InvalidArgumentError, match=said):
        ul.Session(ul.table(ROWS, user="user"), **told)
    with pytest.raises(ul.InvalidArgumentError, match=r"what ul\.table returned"):
        ul.Session(ROWS, epsilon=1)


AMOUNTS = st.fractions(min_value=0, max_value=2, max_denominator=50)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(AMOUNTS, AMOUNTS)))
def test_no_history_exceeds_the_total_of_a_filter(history: list[tuple[Fraction, Fraction]]) -> None:
    spent = EpsilonFilter(EpsilonDelta(Fraction(3), Fraction(1, 2)))
    epsilon = delta = Fraction(0)
    for one, other in history:
        fits = epsilon + one <= 3 and delta + other / 10 <= Fraction(1, 2)
        try:
            spent.spend(EpsilonDelta(one, other / 10))
        except ul.BudgetRefusedError:
            assert not fits
        else:
            assert fits
            epsilon, delta = epsilon + one, delta + other / 10
        assert (spent.spent.epsilon, spent.spent.delta) == (epsilon, delta)
