"""An exact audit is about a law that somebody wrote down. Here it is the law of what the program does."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from tests.fixtures.known_bits import KnownBits
from tests.statistical.goodness import Verdict, g_test

from unlisted.audit.laws.histograms import (
    threshold_histogram_law,
    top_histogram_law,
    top_k_law,
    truncated_histogram_law,
)
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.laws.streams import running_histogram_law
from unlisted.audit.subject import BOTTOM
from unlisted.audit.subjects.histograms import ranking_of, rows_of
from unlisted.audit.subjects.interactions import Interaction, interaction_subject
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
LAPLACE, GAUSSIAN = DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1))
SMALL, LARGER = {"a": 3, "b": 2, "c": 3}, {"a": 3, "b": 4, "c": 3}
RUNS = 800

Case = tuple[Callable[[Any, int], Any], Callable[[Any], OutputLaw], Any, Any]


def histogram(lowered: int = 0) -> Case:
    mechanism = ThresholdHistogram(LAPLACE, 3, ONE, lowered=lowered)
    bits = KnownBits("histogram")
    counted = lambda data: BoundedCounts.from_dict(data, ONE)  # noqa: E731
    return (
        lambda data, _: rows_of(mechanism.release(counted(data), bits)),
        lambda data: threshold_histogram_law(mechanism, data),
        {"a": 3, "b": 2},
        {"a": 3, "b": 3},
    )


def truncated() -> Case:
    mechanism = TruncatedHistogram(Fraction(1), Fraction("0.1"), ONE)
    bits = KnownBits("truncated")
    return (
        lambda data, _: rows_of(mechanism.release(BoundedCounts.from_dict(data, ONE), bits)),
        lambda data: truncated_histogram_law(mechanism, data),
        {"a": 3, "b": 2},
        {"a": 3, "b": 3},
    )


def top_histogram(threshold: int = 1, lowered: int = 0) -> Case:
    mechanism = TopHistogram(GAUSSIAN, threshold, 2, ONE, lowered=lowered)
    bits = KnownBits("top histogram")

    def run(data: Any, _: int) -> Any:
        answer = mechanism.release(BoundedCounts.from_dict(data, ONE), bits)
        return answer.noisy_threshold, rows_of(answer)

    return run, lambda data: top_histogram_law(mechanism, data), SMALL, LARGER


def ranking(shape: Ranking, counts_law: DiscreteGaussian | None = None) -> Case:
    mechanism = TopK(Fraction(1), Fraction(2), shape, counts_law)
    bits = KnownBits(f"a ranking: {mechanism}")
    return (
        lambda data, _: ranking_of(mechanism.release(BoundedCounts.from_dict(data, ONE), bits)),
        lambda data: top_k_law(mechanism, data),
        SMALL,
        LARGER,
    )


def stream(**course: Any) -> Case:
    rounds = 3 * course.get("every", 1)
    mechanism = RunningHistogram(GAUSSIAN, (2, 3), rounds, ONE, **course)

    def run(data: Any, number: int) -> Any:
        key = NoiseKey(hashlib.sha256(b"run %d" % number).digest())
        answers = mechanism.release([BoundedCounts.from_dict(one, ONE) for one in data], key)
        return tuple(rows_of(answer) for answer in answers)

    quiet = ({},) * (rounds - 3)
    late = ({}, {"a": 2}, {"a": 1}, *quiet)
    return run, lambda data: running_histogram_law(mechanism, data), late, ({}, {"a": 2}, {"a": 3}, *quiet)


CASES = {
    "histogram": histogram,
    "histogram with a coin": lambda: histogram(lowered=2**63),
    "histogram whose noise ends": truncated,
    "top histogram": top_histogram,
    "top histogram with a coin": lambda: top_histogram(2, lowered=2**63),
    "ranking": lambda: ranking(Ranking(2, 2, ONE)),
    "ranking with counts": lambda: ranking(Ranking(2, None, ONE), GAUSSIAN),
    "stream": stream,
    "stream that sticks": lambda: stream(display="sticky"),
    "stream in steps": lambda: stream(every=2),
}


def compared(outputs: list[Any], law: OutputLaw) -> Verdict:
    """Number the outcomes by how likely they are, so that rare ones are pooled with rare ones."""
    ranked = sorted(law.at_least, key=lambda outcome: (law.at_least[outcome], repr(outcome)))
    number = {outcome: place for place, outcome in enumerate(ranked)}
    masses = {number[outcome]: float(chance) for outcome, chance in law.at_least.items()}
    return g_test([number.get(output, -1) for output in outputs], masses)


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_follows_the_law(name: str) -> None:
    run, law, data, other = CASES[name]()
    outputs = [run(data, number) for number in range(RUNS)]
    verdict = compared(outputs, law(data))
    assert not verdict.rejected, verdict
    # The same outputs do not follow the law of other data.
    assert compared(outputs, law(other)).rejected


def test_a_budget_answers_by_the_law_and_all_runs_at_once_do_too() -> None:
    question = TopK.at(Ranking(2, 2, ONE), epsilon=1, delta="0.05")
    total = PayWhatYouGet.of(results=3, questions=2, epsilon=1, delta="0.05").guarantee()

    def ask(answers: tuple[Any, ...]) -> TopK | None:
        return question if len(answers) < 2 else None

    subject = interaction_subject("two questions", total, ask, list)
    data, law = {"a": 4, "b": 3}, Interaction(total, ask).law
    plain = compared([subject.run(data) for _ in range(400)], law(data))
    assert not plain.rejected, plain
    together = [output for output, times in subject.batch(data, 20_000).items() for _ in range(times)]
    verdict = compared(together, law(data))
    assert not verdict.rejected, verdict
    assert compared(together, law({"a": 4, "b": 4})).rejected


def test_a_budget_refuses_what_no_longer_fits() -> None:
    question = TopK.at(Ranking(2, 2, ONE), epsilon=1, delta="0.05")
    total = PayWhatYouGet.of(results=3, questions=2, epsilon=1, delta="0.05").guarantee()
    law = Interaction(total, lambda answers: question if len(answers) < 2 else None).law({"a": 9, "b": 9})
    # After two labels one draw is left, and a question may need two; after ⊥ alone it fits.
    assert (("a", "b"), "refused") in law.at_least
    assert ((BOTTOM,), ("a", "b")) in law.at_least
