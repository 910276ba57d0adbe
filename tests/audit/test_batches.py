"""Many runs at once have the law of one run after the other, and of the exact law where it is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.audit.repeatable import repeatable
from tests.statistical.goodness import accepts, g_test, rejects, same_law_test

from unlisted.audit.laws.histograms import (
    threshold_histogram_law,
    top_histogram_law,
    top_k_law,
    truncated_histogram_law,
)
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.laws.streams import running_histogram_law
from unlisted.audit.subject import Batch
from unlisted.audit.subjects.batches import (
    running_histogram_batch,
    threshold_histogram_batch,
    top_histogram_batch,
    top_k_batch,
    truncated_histogram_batch,
)
from unlisted.audit.subjects.histograms import ranking_of, rows_of
from unlisted.audit.subjects.labels import optimal_batch, optimal_law
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
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
HISTOGRAM = {"soup": 6, "bread": 5, "salt": 1}
ROUNDS = ({"soup": 3}, {}, {"soup": 2})
PLAIN, MANY = 1500, 200_000

HISTOGRAMS = ThresholdHistogram(LAPLACE, 4, ONE)
ENDING = TruncatedHistogram(Fraction(1), Fraction("0.05"), ONE)
TOPS = TopHistogram(GAUSSIAN, 4, 2, ONE)
RANKINGS = TopK.at(Ranking(3, 2, ONE), epsilon=1, delta="0.05")
ALL_RANKED = TopK.at(Ranking(2, None, ONE), epsilon=1, delta="0.05")
COUNTED = TopK.at(Ranking(2, 2, ONE), epsilon=1, delta="0.05", counts_law=GAUSSIAN)
COINS = OptimalLabels(Fraction(1, 2), Fraction("0.05"), ONE)
LIVE = RunningHistogram(GAUSSIAN, (3, 4), 3, ONE)
STICKY = RunningHistogram(GAUSSIAN, (3, 4), 3, ONE, "sticky")
EVERY_SECOND = RunningHistogram(GAUSSIAN, (3,), 3, ONE, every=2)


class Case:
    """A mechanism on some data: run plainly, run many times, and its exact law."""

    def __init__(self, run: Callable[[], Hashable], batch: Batch, data: Any, law: OutputLaw | None) -> None:
        self.run, self.batch, self.data, self.law = run, batch, data, law


def on_counts(mechanism: Any, batch: Callable[..., Batch], law: Callable[..., OutputLaw], shown: Any) -> Case:
    bits = repeatable(f"plain {mechanism}")
    sensitivity = getattr(mechanism, "ranking", mechanism).sensitivity
    counts = BoundedCounts.from_dict(HISTOGRAM, sensitivity)
    run = lambda: shown(mechanism.release(counts, bits()))  # noqa: E731
    return Case(run, batch(mechanism, repeatable(f"{mechanism}")), HISTOGRAM, law(mechanism, HISTOGRAM))


def on_rounds(mechanism: RunningHistogram, *, law: bool = True) -> Case:
    bits = repeatable(f"plain {mechanism}")
    rounds = [BoundedCounts.from_dict(one, ONE) for one in ROUNDS]

    def run() -> Hashable:
        return tuple(rows_of(answer) for answer in mechanism.release(rounds, NoiseKey(bits().take(32))))

    exact = running_histogram_law(mechanism, ROUNDS) if law else None
    return Case(run, running_histogram_batch(mechanism, repeatable(f"{mechanism}")), ROUNDS, exact)


CASES = {
    "threshold histogram": lambda: on_counts(
        HISTOGRAMS, threshold_histogram_batch, threshold_histogram_law, rows_of
    ),
    "threshold histogram with a coin": lambda: on_counts(
        replace(HISTOGRAMS, lowered=2**63), threshold_histogram_batch, threshold_histogram_law, rows_of
    ),
    "histogram whose noise ends": lambda: on_counts(
        ENDING, truncated_histogram_batch, truncated_histogram_law, rows_of
    ),
    "top histogram with a coin": lambda: on_counts(
        replace(TOPS, lowered=2**63),
        top_histogram_batch,
        top_histogram_law,
        lambda answer: (answer.noisy_threshold, rows_of(answer)),
    ),
    "top histogram": lambda: on_counts(
        TOPS, top_histogram_batch, top_histogram_law, lambda answer: (answer.noisy_threshold, rows_of(answer))
    ),
    "top k": lambda: on_counts(RANKINGS, top_k_batch, top_k_law, ranking_of),
    "top k of all counts": lambda: on_counts(ALL_RANKED, top_k_batch, top_k_law, ranking_of),
    "top k with counts": lambda: on_counts(COUNTED, top_k_batch, top_k_law, ranking_of),
    "coins": lambda: on_counts(COINS, optimal_batch, optimal_law, ranking_of),
    "stream, live": lambda: on_rounds(LIVE),
    "stream, sticky": lambda: on_rounds(STICKY),
    "stream, every second round": lambda: on_rounds(EVERY_SECOND, law=False),
}


@pytest.fixture(params=CASES, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


def as_draws(*tallies: Counter[Hashable]) -> list[np.ndarray]:
    """Write outputs as numbers, the same one in every tally."""
    numbers = {output: i for i, output in enumerate(sorted(set().union(*tallies), key=repr))}
    return [np.repeat([numbers[one] for one in tally], list(tally.values())) for tally in tallies]


def test_many_at_once_have_the_law_of_one_by_one(case: Case) -> None:
    plain = Counter(case.run() for _ in range(PLAIN))
    accepts(same_law_test(*as_draws(plain, case.batch(case.data, PLAIN))))


def test_many_at_once_have_the_exact_law(case: Case) -> None:
    if case.law is None:
        assert case.batch(case.data, 10).total() == 10
        return
    accepts(g_test(*against(case.batch(case.data, MANY), case.law)))


def against(tally: Counter[Hashable], law: OutputLaw) -> tuple[np.ndarray, dict[int, float]]:
    """Number the outputs of a law; what it leaves out has a number of its own."""
    numbers = {output: i for i, output in enumerate(law.at_least)}
    masses = {numbers[output]: float(chance) for output, chance in law.at_least.items()}
    masses[-1] = max(0.0, 1 - sum(masses.values()))
    return np.repeat([numbers.get(one, -1) for one in tally], list(tally.values())), masses


def test_a_batch_of_other_counts_is_told_apart() -> None:
    """The power twin: one user more is seen."""
    batch = threshold_histogram_batch(HISTOGRAMS, repeatable("twin"))
    law = threshold_histogram_law(HISTOGRAMS, HISTOGRAM)
    rejects(g_test(*against(batch({**HISTOGRAM, "soup": 7}, MANY), law)))


def test_batches_of_any_size_are_whole() -> None:
    batch = top_k_batch(RANKINGS, repeatable("sizes"))
    assert batch(HISTOGRAM, 0).total() == 0
    assert batch(HISTOGRAM, 1).total() == 1
    assert batch(HISTOGRAM, (1 << 20) + 3).total() == (1 << 20) + 3


@pytest.mark.parametrize(
    ("batch", "nothing"),
    [
        (threshold_histogram_batch(HISTOGRAMS), ()),
        (top_k_batch(RANKINGS), (None,)),
        (top_k_batch(COUNTED), ((None,), ())),
    ],
)
def test_nothing_comes_of_nothing(batch: Batch, nothing: Hashable) -> None:
    assert batch({}, 5) == Counter({nothing: 5})


def test_streams_without_a_release_show_nothing() -> None:
    assert running_histogram_batch(EVERY_SECOND)([{"soup": 30}], 5) == Counter({(): 5})


def test_wide_outputs_are_counted_right() -> None:
    """So many columns of so many values that one number cannot name them all."""
    mechanism = ThresholdHistogram(DiscreteGaussian(Fraction(10**6)), 9, ONE)
    wide = {f"item{i}": 10**6 for i in range(9)}
    tally = threshold_histogram_batch(mechanism, repeatable("wide"))(wide, 2000)
    assert len(tally) == 2000 == tally.total()
    assert all(len(output) == 9 for output in tally)
