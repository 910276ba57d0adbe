"""Algorithm 4: adaptive questions on one budget; what comes back, and what never does."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.fixtures.known_bits import KnownBits

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import BudgetRefusedError, InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.bits import Bits
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
TWO_LABELS = BoundedCounts.from_dict({"a": 9000, "b": 8000}, ONE, fetched=10)


def question(k: int = 5, epsilon: object = "0.1", delta: object = "1e-9", fetched: int = 10) -> TopK:
    return TopK.at(Ranking(k, fetched, ONE), epsilon=epsilon, delta=delta)


class BrokenBits(Bits):
    def take(self, n: int) -> bytes:
        raise OSError("no entropy")


class TestRefunds:
    def test_what_was_not_drawn_comes_back_exactly(self) -> None:
        """Two labels and ⊥ of five reserved draws: three are charged, two come back, to the last digit."""
        budget = PayWhatYouGet(Guarantee(Fraction(1), Fraction(1, 1000)))
        asked = question()
        answer = budget.release(asked, TWO_LABELS, KnownBits("refund"))
        assert answer.labels.to_pylist() == ["a", "b"]
        assert answer.stopped
        assert budget.left.rho == 1 - 3 * Fraction("0.1") ** 2 / 8
        assert budget.left.delta == Fraction(1, 1000) - asked.guarantee().delta

    def test_bottom_is_charged_like_a_label(self) -> None:
        budget = PayWhatYouGet(Guarantee(Fraction(1), Fraction(1, 1000)))
        answer = budget.release(question(), BoundedCounts([], [], ONE, fetched=10))
        assert (len(answer), answer.stopped) == (0, True)
        assert budget.left.rho == 1 - Fraction("0.1") ** 2 / 8

    def test_delta_never_comes_back(self) -> None:
        asked = question(k=1)
        budget = PayWhatYouGet(Guarantee(Fraction(100), 3 * asked.guarantee().delta))
        for _ in range(3):
            budget.release(asked, BoundedCounts([], [], ONE, fetched=10))
        assert budget.left.delta == 0
        with pytest.raises(BudgetRefusedError, match="nothing was charged"):
            budget.release(asked, TWO_LABELS)

    def test_many_empty_answers_are_not_free(self) -> None:
        """A label that never comes out costs ⊥ every time: eighty draws of ε = 0.1 are ρ = 0.1."""
        budget = PayWhatYouGet.of(results=80, questions=10**6, epsilon="0.1", delta="1e-9")
        nothing = BoundedCounts([], [], ONE, fetched=10)
        for i in range(80):
            budget.release(question(k=1), nothing, KnownBits(f"bottom {i}"))
        assert budget.guarantee().rho == Fraction("0.1")
        assert budget.left.rho == 0
        with pytest.raises(BudgetRefusedError):
            budget.release(question(k=1), nothing)


class TestReservation:
    def test_a_question_whose_ceiling_does_not_fit_is_refused_though_its_answer_might(self) -> None:
        budget = PayWhatYouGet.of(results=4, questions=9, epsilon="0.1", delta="1e-9")
        with pytest.raises(BudgetRefusedError, match=r"Ask for fewer results"):
            budget.release(question(k=5), TWO_LABELS)
        assert budget.left == budget.guarantee()
        budget.release(question(k=4), TWO_LABELS)

    def test_the_ceiling_counts_bottom_but_no_more_than_there_is_to_draw(self) -> None:
        """k = 100 of k̄ = 3 makes at most four draws."""
        budget = PayWhatYouGet.of(results=4, questions=1, epsilon="0.1", delta="1e-9")
        budget.release(question(k=100, fetched=3), BoundedCounts([], [], ONE, fetched=3))

    def test_a_failure_after_the_reservation_keeps_it(self) -> None:
        budget = PayWhatYouGet(Guarantee(Fraction(1), Fraction(1, 1000)))
        asked = question()
        with pytest.raises(OSError, match="no entropy"):
            budget.release(asked, TWO_LABELS, BrokenBits())
        assert budget.left.rho == 1 - asked.guarantee().rho
        assert budget.left.delta == Fraction(1, 1000) - asked.guarantee().delta
        with pytest.raises(InvalidCountsError):
            budget.release(asked, BoundedCounts([], [], Sensitivity(2), fetched=10))
        assert budget.left.rho == 1 - 2 * asked.guarantee().rho

    def test_nothing_is_drawn_for_a_refused_question(self) -> None:
        budget = PayWhatYouGet(Guarantee(Fraction(0), Fraction(0)))
        with pytest.raises(BudgetRefusedError):
            budget.release(question(), TWO_LABELS, BrokenBits())

    def test_two_budgets_do_not_share_what_they_spent(self) -> None:
        one, other = (PayWhatYouGet.of(results=9, questions=9, epsilon=1, delta="1e-9") for _ in range(2))
        one.release(question(), TWO_LABELS)
        assert other.left == other.guarantee()
        assert one == other


class TestOf:
    def test_results_and_questions_as_the_survey_says_them(self) -> None:
        total = PayWhatYouGet.of(results=3000, questions=70, epsilon="0.15", delta="1e-10").guarantee()
        assert total.rho == 3000 * Fraction("0.15") ** 2 / 8
        assert total.delta == 70 * Fraction("1e-10")

    def test_exactly_so_many_questions_and_results_fit(self) -> None:
        budget = PayWhatYouGet.of(results=6, questions=3, epsilon="0.1", delta="1e-9")
        full = BoundedCounts([str(i) for i in range(10)], [10**6 * (i + 1) for i in range(10)], ONE, fetched=10)
        for i in range(3):
            assert len(budget.release(question(k=2), full, KnownBits(f"full {i}"))) == 2
        assert budget.left.rho == 0
        with pytest.raises(BudgetRefusedError):
            budget.release(question(k=1), full)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("results", 0), ("questions", -1), ("epsilon", 0), ("delta", 0), ("delta", "0.5"), ("results", 2.5)],
    )
    def test_out_of_range(self, name: str, value: object) -> None:
        terms = {"results": 5, "questions": 5, "epsilon": 1, "delta": "1e-9"} | {name: value}
        with pytest.raises(InvalidArgumentError, match=f"{name} = "):
            PayWhatYouGet.of(**terms)


class AnyAnalyst(RuleBasedStateMachine):
    """Questions of any shape, chosen after seeing every answer, some of which fail: the total is never passed."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = PayWhatYouGet(Guarantee(Fraction(1, 50), Fraction(1, 10**7)))
        self.rho, self.delta = Fraction(0), Fraction(0)
        self.asked = 0

    @rule(
        k=st.integers(1, 6),
        fetched=st.integers(1, 4),
        epsilon=st.sampled_from(["0.01", "0.1", "0.5"]),
        delta=st.sampled_from(["1e-12", "1e-8", "4e-8"]),
        labels=st.integers(0, 5),
        fails=st.booleans(),
    )
    def ask(self, k: int, fetched: int, epsilon: str, delta: str, labels: int, *, fails: bool) -> None:
        self.asked += 1
        asked = question(k, epsilon, delta, fetched)
        counts = BoundedCounts([str(i) for i in range(labels)], [50 * (i + 1) for i in range(labels)], ONE)
        bits = BrokenBits() if fails else KnownBits(f"analyst {self.asked}")
        before = self.budget.left
        try:
            answer = self.budget.release(asked, counts, bits)
        except BudgetRefusedError:
            ceiling = asked.guarantee()
            assert ceiling.rho > before.rho or ceiling.delta > before.delta
            assert self.budget.left == before
        except OSError:
            self.rho += asked.guarantee().rho
            self.delta += asked.guarantee().delta
        else:
            draws = len(answer) + answer.stopped
            assert draws <= min(k, fetched + 1)
            self.rho += draws * Fraction(epsilon) ** 2 / 8
            self.delta += asked.guarantee().delta

    @invariant()
    def never_overspent(self) -> None:
        assert self.rho <= self.budget.total.rho
        assert self.delta <= self.budget.total.delta
        assert self.budget.left == Guarantee(
            self.budget.total.rho - self.rho, self.budget.total.delta - self.delta
        )


TestAnyAnalyst = AnyAnalyst.TestCase
TestAnyAnalyst.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
