"""Counts that do not fall: closer to the truth than what was released, and inside their intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.streams.brooks import quiet_brook

import unlisted as ul
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.continual_histogram import ContinualHistogram
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.streams.history import Paths
from unlisted.streams.steady import steadied_together as steadied

BUDGET = ul.Budget(epsilon=1, delta="1e-8")
ROUNDS, ITEMS = 120, 150
KINDS = {
    "grows": np.ones_like,
    "in bursts": lambda at: np.where((at * 12).astype(int) % 3 == 0, 3.0, 0.05),
    "late": lambda at: np.where(at > 0.7, 3.0, 0.0),
    "stops": lambda at: np.where(at < 0.2, 5.0, 0.0),
}


@pytest.fixture(scope="module", params=[CorrelatedHistogram, RunningHistogram], ids=["correlated", "tree"])
def mechanism(request: pytest.FixtureRequest) -> ContinualHistogram:
    return request.param.for_budget(BUDGET, ROUNDS, ul.Sensitivity(1)).mechanism


def released(mechanism: ContinualHistogram, kind: str, size: float) -> tuple[np.ndarray, np.ndarray, Paths]:
    """The true paths of items, the noisy ones, and what of these is shown. Sizes are in units of the threshold."""
    rng, rounds = np.random.default_rng(5), np.arange(1, ROUNDS + 1)
    thresholds = np.array([mechanism.threshold_after(int(number)) for number in rounds])
    rate = KINDS[kind](rounds / ROUNDS) * size * thresholds[-1] / ROUNDS
    true = rng.poisson(np.repeat(rate[:, None], ITEMS, axis=1)).cumsum(axis=0)
    lower = np.linalg.cholesky(mechanism.covariance(rounds) + 1e-9 * np.eye(ROUNDS))
    noisy = np.rint(true + lower @ rng.standard_normal(true.shape)).astype(np.int64)
    shown = noisy > thresholds[:, None]
    seen = np.where(shown, noisy, 0)
    return true, noisy, Paths(pa.array(range(ITEMS)), rounds, [None] * ROUNDS, shown, seen, seen, seen)


@pytest.mark.parametrize("size", [1.2, 10, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_they_are_closer_to_the_truth_and_inside_their_intervals(
    mechanism: ContinualHistogram, kind: str, size: float
) -> None:
    true, noisy, paths = released(mechanism, kind, size)
    steady = steadied(paths, mechanism)
    assert np.all(np.diff(steady.count, axis=0)[steady.since[:-1]] >= 0)
    wrong, before = (steady.count - true)[steady.since], (noisy - true)[paths.shown]
    assert np.sqrt(np.mean(wrong**2)) < 1.02 * np.sqrt(np.mean(before**2))
    covered = np.abs(steady.count - true) <= steady.half_width[:, None]
    assert covered[steady.since].mean() > 0.94


def test_an_item_near_the_threshold_does_not_look_larger_than_it_is(mechanism: ContinualHistogram) -> None:
    """It is shown when its noise is high; what is known of the other rounds takes most of that back."""
    true, noisy, paths = released(mechanism, "grows", 1.0)
    flattered = (noisy - true)[paths.shown].mean()
    assert (steadied(paths, mechanism).count - true)[paths.shown].mean() < flattered / 2


def test_smoothing_without_what_was_not_shown_would_be_flattered(
    mechanism: ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant: gaps are filled at the threshold, as if nothing followed from them."""
    from unlisted.streams import steady as module

    true, _, paths = released(mechanism, "stops", 0.8)
    right = (steadied(paths, mechanism).count - true)[paths.shown].mean()
    monkeypatch.setattr(module, "_mills", lambda x: np.full_like(x, -9.0))
    assert (steadied(paths, mechanism).count - true)[paths.shown].mean() > right + mechanism.thresholds[0] / 10


def test_the_same_releases_give_the_same_counts(mechanism: ContinualHistogram) -> None:
    _, _, paths = released(mechanism, "grows", 2)
    one, other = steadied(paths, mechanism), steadied(paths, mechanism)
    assert np.array_equal(one.count, other.count)
    assert np.array_equal(one.since, np.logical_or.accumulate(paths.shown, axis=0))


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_few_releases_are_enough(mechanism: ContinualHistogram, rounds: int) -> None:
    _, noisy, paths = released(mechanism, "grows", 1000)
    few = Paths(paths.labels, paths.rounds[:rounds], [None] * rounds, *(one[:rounds] for one in numbers(paths)))
    steady = steadied(few, mechanism)
    assert np.all(np.abs(steady.count - noisy[:rounds])[few.shown] <= 4 * steady.half_width.max())


def numbers(paths: Paths) -> tuple[np.ndarray, ...]:
    return paths.shown, paths.count, paths.low, paths.high


def test_no_items_no_counts(mechanism: ContinualHistogram) -> None:
    _, _, paths = released(mechanism, "grows", 2)
    none = Paths(pa.nulls(0, pa.string()), paths.rounds, paths.times, *(one[:, :0] for one in numbers(paths)))
    assert steadied(none, mechanism).count.shape == (ROUNDS, 0)


class TestCovariance:
    def test_it_is_that_of_the_noise_which_is_described(self, mechanism: ContinualHistogram) -> None:
        """Noise is described at the last release of each class; there both say the same."""
        covariance = mechanism.covariance(np.array([1, 2, 3, ROUNDS]))
        for at, number in enumerate((1, 2, 3, ROUNDS)):
            assert covariance[at, at] == pytest.approx(float(mechanism.noise_after(number).law.variance), rel=1e-4)

    def test_it_is_that_of_the_noise_which_is_drawn(self, mechanism: ContinualHistogram) -> None:
        """Thousands of labels of one count: what is left after it are draws of the noise."""
        labels = [f"label {at}" for at in range(4000)]
        counts = ul.BoundedCounts(labels, np.full(len(labels), 10**6), ul.Sensitivity(1))
        nothing = ul.BoundedCounts.from_dict({}, ul.Sensitivity(1))
        drawn = []
        for answer in mechanism.release([counts] + [nothing] * 7):
            order = np.argsort(answer.labels.to_pylist())
            drawn.append(answer.counts[order] - 10**6)
        found = np.cov(np.array(drawn))
        expected = mechanism.covariance(np.arange(1, 9))
        spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.abs(found - expected).max() < 0.1 * spread.max()
        # It is not that of independent noise, nor of noise of the same variance in all rounds.
        assert np.abs(found - np.diag(np.diag(expected))).max() > 0.3 * spread.max()

    def test_a_release_every_so_often_counts_steps(self) -> None:
        sensitivity = ul.Sensitivity(1)
        for kind in (CorrelatedHistogram, RunningHistogram):
            every = kind.for_budget(BUDGET, 60, sensitivity, every=3).mechanism
            steps = every.covariance(np.array([3, 6, 60]))
            assert steps[0, 0] < steps[2, 2] or kind is RunningHistogram
            assert np.all(np.linalg.eigvalsh(steps) > 0)


def test_a_stream_s_steady_counts_stay(tmp_path: Path) -> None:
    """A live item that falls below the threshold is out of the release, and not out of the steady counts."""
    stream = quiet_brook(tmp_path / "s", rounds=7, noise="tree", thresholds=(10, 60, 60))
    for one in ({"a": 20}, {"a": 1}, {"a": 1}):
        stream.push(one)
    export = stream.export(steady=True)
    assert export["count"] == [20, 21, None]
    assert export["steady"] == sorted(export["steady"])
    assert all(row["steady_low"] <= row["steady"] <= row["steady_high"] for row in export)
    assert "does not fall" in export.reading
    assert "None" not in repr(export)


def test_where_a_stream_counts_anew_steady_counts_do_too(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", window=3, rounds=9)
    for count in (30, 30, 30, 20, 20, 20):
        stream.push({"a": count})
    assert stream.export(steady=True)["steady"] == [30, 60, 90, 20, 40, 60]
