"""The running histogram against its plain reference, its arithmetic, its limits and its refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.continual.binary_reference import Round, plainly

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.binary.tree import largest_popcount
from unlisted.mechanisms.continual.stream_state import StreamState
from unlisted.mechanisms.mechanism import Answer
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
KEY = NoiseKey(bytes(range(32)))
QUIET = DiscreteGaussian("0.01")
"""Noise that is 0 but for a chance of e^-50: what remains is the counting."""


NOISY = DiscreteGaussian(2)


def stream(
    rounds: int, law: DiscreteGaussian = NOISY, threshold: int = 3, display: str = "live", every: int = 1
) -> RunningHistogram:
    thresholds = (threshold,) * largest_popcount(rounds // every)
    return RunningHistogram(law, thresholds, rounds, ONE, display, every)


def counted(one: Round) -> BoundedCounts:
    return BoundedCounts.from_dict(one, ONE)


def rows(answer: Answer) -> list[tuple[object, int]]:
    return list(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))


def node_noise(state: StreamState) -> list[np.ndarray]:
    """The noise of each node of the present prefix, largest node first."""
    sums = [np.zeros(len(state.totals), dtype=np.int64), *(one.values for one in state.noise.sums)]
    return [later - earlier for earlier, later in pairwise(sums)]


STREAMS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "", "é"]), st.integers(0, 4), max_size=4), max_size=11
)


class TestAgainstItsReference:
    @given(
        STREAMS,
        st.sampled_from(["live", "sticky"]),
        st.integers(0, 9),
        st.integers(1, 4),
        st.binary(min_size=32, max_size=32),
    )
    def test_it_shows_what_the_plain_algorithm_shows(
        self, rounds: list[Round], display: str, spare: int, every: int, secret: bytes
    ) -> None:
        mechanism = stream(max(every, len(rounds) + spare), display=display, every=every)
        answers = mechanism.release([counted(one) for one in rounds], NoiseKey(secret))
        assert [rows(answer) for answer in answers] == plainly(mechanism, rounds, NoiseKey(secret))

    @pytest.mark.parametrize("display", ["live", "sticky"])
    def test_labels_that_vanish_and_come_back(self, display: str) -> None:
        rounds = [{"a": 2, "b": 1}, {}, {"c": 9}, {}, {"b": 3}, {"a": 1}, {}, {}, {"b": 1, "a": 7}, {}]
        mechanism = stream(20, display=display)
        answers = mechanism.release([counted(one) for one in rounds], KEY)
        assert [rows(answer) for answer in answers] == plainly(mechanism, rounds, KEY)
        assert {"a", "b", "c"} <= {label for answer in answers for label in answer.labels.to_pylist()}

    def test_thresholds_go_by_popcount(self) -> None:
        """Rounds 1, 2, 4 have one node, 3, 5, 6 two, 7 three; only pairs are shown here."""
        mechanism = RunningHistogram(QUIET, (1000, 1, 1000), 7, ONE)
        answers = mechanism.release([counted({"a": 50})] * 7, KEY)
        assert [len(answer) for answer in answers] == [0, 0, 1, 0, 1, 1, 0]


class TestPersistence:
    ROUNDS = ({"a": 5, "b": 3}, {"c": 9}, {"a": 1})

    def answers(self, rounds: tuple[Round, ...], key: NoiseKey = KEY) -> list[list]:
        mechanism = stream(8, DiscreteGaussian(10**6), 1)
        return [rows(answer) for answer in mechanism.release([counted(one) for one in rounds], key)]

    def test_the_same_key_and_contents_give_the_same_answers(self) -> None:
        assert self.answers(self.ROUNDS) == self.answers(self.ROUNDS)
        shuffled = ({"b": 3, "a": 5}, {"c": 9}, {"a": 1})
        assert self.answers(shuffled) == self.answers(self.ROUNDS)

    def test_the_answers_of_a_known_key_never_change(self) -> None:
        """A stream outlives the program that began it: other bits from the same key would be a second release."""
        mechanism = stream(8, DiscreteGaussian(100), 1)
        rounds = [{"a": 100, "": 100}, {"é": 100}, {"a": 50}]
        answers = mechanism.release([counted(one) for one in rounds], KEY)
        assert [rows(answer) for answer in answers] == [
            [("", 113), ("a", 62)],
            [("", 111), ("é", 99), ("a", 94)],
            [("a", 153), ("", 120), ("é", 101)],
        ]

    def test_another_key_gives_other_noise(self) -> None:
        assert self.answers(self.ROUNDS, NoiseKey(bytes(32))) != self.answers(self.ROUNDS)
        assert self.answers(self.ROUNDS, NoiseKey.fresh()) != self.answers(self.ROUNDS, NoiseKey.fresh())

    def test_other_contents_never_meet_old_noise(self) -> None:
        """One more event in round 1: every node that contains it draws anew, for every label."""
        mechanism = stream(8, DiscreteGaussian(10**6), 1)
        labels = {f"label {i}": 5 for i in range(40)}

        def noise(first: Round) -> list[list[np.ndarray]]:
            state, found = mechanism.start(KEY), []
            for one in (first, {"x": 1}, {"y": 1}):
                state, _ = mechanism.step(state, counted(one))
                found.append([nodes[:40] for nodes in node_noise(state)])
            return found

        one, other = noise(labels), noise(labels | {"label 0": 6})
        # Prefixes 1, 2 and 3 are the nodes (1), (1 2), and (1 2) with (3).
        assert np.count_nonzero(one[0][0] == other[0][0]) < 10
        assert np.count_nonzero(one[1][0] == other[1][0]) < 10
        assert np.array_equal(one[2][0], one[1][0])
        assert np.array_equal(one[2][1], other[2][1])

    def test_equal_contents_in_other_rounds_have_noise_of_their_own(self) -> None:
        mechanism = stream(8, DiscreteGaussian(10**6), 1)
        state, seen = mechanism.start(KEY), []
        for _ in range(3):
            state, _ = mechanism.step(state, counted({str(i): 1 for i in range(40)}))
            seen.append(node_noise(state)[-1])
        assert np.count_nonzero(seen[0] == seen[2]) < 10

    def test_a_state_can_be_stepped_from_twice(self) -> None:
        mechanism = stream(8, display="sticky")
        state, _ = mechanism.step(mechanism.start(KEY), counted({"a": 9}))
        first = mechanism.step(state, counted({"b": 9}))[1]
        mechanism.step(state, counted({"c": 9, "d": 1}))
        again = mechanism.step(state, counted({"b": 9}))[1]
        assert rows(first) == rows(again)


class TestDisplay:
    def test_sticky_keeps_what_was_shown_and_both_cost_the_same(self) -> None:
        live, sticky = (RunningHistogram(QUIET, (10, 60, 60), 7, ONE, display) for display in ("live", "sticky"))
        rounds = [counted({"a": 20}), counted({"b": 20}), counted({"a": 1})]
        assert [rows(answer) for answer in live.release(rounds, KEY)] == [
            [("a", 20)],
            [("a", 20), ("b", 20)],
            [],
        ]
        assert [rows(answer) for answer in sticky.release(rounds, KEY)][2] == [("a", 21), ("b", 20)]
        assert live.guarantee() == sticky.guarantee()

    @given(STREAMS)
    def test_sticky_shows_all_that_live_shows(self, rounds: list[Round]) -> None:
        shown = {
            display: stream(16, display=display).release([counted(one) for one in rounds], KEY)
            for display in ("live", "sticky")
        }
        for live, sticky in zip(shown["live"], shown["sticky"], strict=True):
            assert set(rows(live)) <= set(rows(sticky))


class TestRounds:
    def test_empty_rounds_are_rounds(self) -> None:
        answers = stream(5).release([counted({})] * 5, KEY)
        assert [len(answer) for answer in answers] == [0] * 5
        late = stream(5, QUIET).release([*[counted({})] * 4, counted({"a": 9})], KEY)
        assert rows(late[-1]) == [("a", 9)]

    def test_after_the_last_round_the_stream_is_over(self) -> None:
        mechanism = stream(3)
        with pytest.raises(InvalidArgumentError, match="round = 4 is not allowed: it must be at most 3"):
            mechanism.release([counted({"a": 1})] * 4, KEY)

    def test_every_answer_names_the_price_of_the_whole_stream(self) -> None:
        mechanism = stream(3)
        for answer in mechanism.release([counted({"a": 9})] * 3, KEY):
            assert answer.spent == mechanism.guarantee()

    def test_labels_of_another_type_are_refused(self) -> None:
        mechanism = stream(3)
        with pytest.raises(InvalidCountsError, match="another type than the stream's"):
            mechanism.release([counted({"a": 1}), counted({1: 1})], KEY)

    def test_look_alike_labels_of_one_stream_stay_apart(self) -> None:
        mechanism = stream(3, QUIET)
        answers = mechanism.release([counted({"a\u0300": 8}), counted({"\u00e0": 9})], KEY)
        assert rows(answers[-1]) == [("\u00e0", 9), ("a\u0300", 8)]
        zeros = mechanism.release([counted({0.0: 8}), counted({-0.0: 9})], KEY)
        assert [repr(label) for label in zeros[-1].labels.to_pylist()] == ["-0.0", "0.0"]


class TestLargeCounts:
    """Trees of peers wrapped around at 2^31; a total that saturates would change two nodes for one event."""

    def test_totals_pass_two_to_the_31(self) -> None:
        rounds = [BoundedCounts(["a"], np.array([2**31 - 1], dtype=np.int32), ONE)] * 5
        answers = stream(5, QUIET).release(rounds, KEY)
        assert [rows(answer) for answer in answers] == [[("a", t * (2**31 - 1))] for t in range(1, 6)]

    @pytest.mark.parametrize("count", [2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**70])
    def test_rounds_saturate_and_totals_never_wrap(self, count: int) -> None:
        answers = stream(5, QUIET).release([counted({"a": count, "b": 7})] * 5, KEY)
        most = 2**62 // 5
        assert [rows(answer) for answer in answers] == [[("a", t * most), ("b", 7 * t)] for t in range(1, 6)]

    @given(
        st.lists(st.integers(2**62 // 6 - 3, 2**62 // 6 + 3) | st.integers(0, 2), min_size=6, max_size=6),
        st.integers(0, 5),
    )
    def test_one_event_moves_every_later_total_alike(self, counts: list[int], when: int) -> None:
        """Otherwise the difference of two neighbours would leave one node and enter another."""
        more = [count + (t == when) for t, count in enumerate(counts)]
        mechanism = stream(6, QUIET)
        totals = []
        for one in (counts, more):
            state, found = mechanism.start(KEY), []
            for count in one:
                state, _ = mechanism.step(state, counted({"a": count, "other": 1}))
                row = int(state.labels.rows_of(pa.array(["a"]))[0])
                found.append(int(state.totals[row]) if row >= 0 else 0)
            totals.append(found)
        moved = [b - a for a, b in zip(*totals, strict=True)]
        assert moved[:when] == [0] * when
        assert len(set(moved[when:])) == 1
        assert moved[-1] in (0, 1)


class TestRefusals:
    @pytest.mark.parametrize("rounds", [0, -1, 1.5, None, True])
    def test_rounds(self, rounds: object) -> None:
        with pytest.raises(InvalidArgumentError, match="rounds = "):
            RunningHistogram(QUIET, (5,), rounds, ONE)
        with pytest.raises(InvalidArgumentError, match="rounds = "):
            RunningHistogram.for_budget(Budget(rho=1, delta="1e-6"), rounds, ONE)

    @pytest.mark.parametrize("thresholds", [(), (5,), (5, 5, 5)])
    def test_one_threshold_for_each_popcount(self, thresholds: tuple[int, ...]) -> None:
        with pytest.raises(InvalidArgumentError, match="2 numbers, one for each popcount"):
            RunningHistogram(QUIET, thresholds, 5, ONE)

    def test_thresholds_are_not_below_what_one_event_can_reach(self) -> None:
        with pytest.raises(InvalidArgumentError, match="thresholds = 2 is not allowed: it must be 3 or above"):
            RunningHistogram(QUIET, (5, 2), 5, Sensitivity(1, 3))

    def test_without_a_bound_on_items_there_is_no_stream(self) -> None:
        with pytest.raises(InvalidArgumentError, match="items = None"):
            RunningHistogram(QUIET, (5,), 1, Sensitivity(None))

    def test_events_are_present_or_absent(self) -> None:
        with pytest.raises(InvalidArgumentError, match="adjacency = 'replace'"):
            RunningHistogram(QUIET, (5,), 1, Sensitivity(1, 1, "replace"))

    def test_display(self) -> None:
        with pytest.raises(InvalidArgumentError, match="display = 'frozen'"):
            RunningHistogram(QUIET, (5,), 1, ONE, "frozen")

    @pytest.mark.parametrize(
        "counts",
        [
            BoundedCounts(["a"], [9], ONE, fetched=3),
            BoundedCounts(["a"], [9], ONE, minimum_count=2),
            BoundedCounts(["a"], [9], Sensitivity(2)),
            BoundedCounts(["a"], [9], Sensitivity(1, 2)),
            BoundedCounts(["a"], [9], Sensitivity(1, 1, "replace")),
        ],
        ids=["fetched", "minimum_count", "items", "count", "adjacency"],
    )
    def test_a_round_that_declares_more_is_refused(self, counts: BoundedCounts) -> None:
        mechanism = stream(3)
        with pytest.raises(InvalidCountsError):
            mechanism.step(mechanism.start(KEY), counts)


def shares(places: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write numbers of places as a sum of parts up to `most`, largest part first."""
    yield ()
    for part in range(1, min(places, most) + 1):
        for rest in shares(places - part, part):
            yield (part, *rest)


class TestEscape:
    """The chance that a label which one unit alone brings is shown, however it shares its rounds among labels."""

    @pytest.mark.parametrize("variance", [Fraction(1, 2), 3, 40, 1000])
    @pytest.mark.parametrize(("rounds_per_unit", "items"), [(1, 3), (2, 1), (2, 2), (3, 2), (4, 1), (6, 1)])
    def test_it_is_that_of_the_worst_way_to_share(
        self, variance: Number, rounds_per_unit: int, items: int
    ) -> None:
        """All ways are tried: so many rounds for each label, at most C, and C·Δ0 together."""
        law, count = DiscreteGaussian(Fraction(variance)), 2
        above = [math.ceil(4 * law.stddev * math.sqrt(ones)) for ones in (1, 2, 3)]
        thresholds = tuple(rounds_per_unit * count + more for more in above)
        sensitivity = Sensitivity(items, count)
        mechanism = RunningHistogram(law, thresholds, 7, sensitivity, rounds_per_unit=rounds_per_unit)
        shown = {
            rounds: sum(
                law.sum_tail(t.bit_count(), mechanism.threshold_after(t) - rounds * count + 1) for t in range(1, 8)
            )
            for rounds in range(1, rounds_per_unit + 1)
        }
        ways = shares(rounds_per_unit * items, rounds_per_unit)
        worst = max(1 - math.prod(1 - shown[rounds] for rounds in way) for way in ways)
        assert worst <= mechanism.failure() <= worst * (1 + Fraction(1, 10**30))

    def test_either_end_can_be_the_worst(self) -> None:
        narrow, wide = (
            RunningHistogram(DiscreteGaussian(variance), (above, above), 3, ONE, rounds_per_unit=3)
            for variance, above in ((1, 9), (10_000, 600))
        )
        for mechanism, labels, rounds in ((narrow, 1, 3), (wide, 3, 1)):
            alone = replace(
                mechanism, rounds_per_unit=1, thresholds=tuple(t + 1 - rounds for t in mechanism.thresholds)
            )
            assert float(mechanism.failure()) == pytest.approx(float(labels * alone.failure()), rel=1e-3)

    def test_it_is_never_above_the_sum_of_the_worst_cases(self) -> None:
        """As it would be if a unit could bring C·Δ0 labels, each in all of its rounds."""
        mechanism = RunningHistogram(DiscreteGaussian(9), (22, 25, 27), 7, Sensitivity(2), rounds_per_unit=5)
        alone = replace(mechanism, rounds_per_unit=1, sensitivity=ONE, thresholds=(18, 21, 23))
        assert mechanism.failure() < 2 * 5 * alone.failure() / 2


class TestForBudget:
    def test_thresholds_are_as_low_as_the_theory_says(self) -> None:
        """A year of days at ε = 1 and δ = 1e-8: 330 in the survey; by popcount 104 at best and 208 on average.

        The theory's table has the δ of continuous Gaussian noise, which integer noise may not use: 6 % more.
        """
        budget = Budget(epsilon=1, delta="1e-8")
        found = RunningHistogram.for_budget(budget, 365, ONE).mechanism
        by_round = [found.thresholds[t.bit_count() - 1] - 1 for t in range(1, 366)]
        assert max(by_round) < 330
        assert min(by_round) < 1.06 * 104
        assert sum(by_round) / 365 < 1.06 * 208
        assert budget.allows(found.guarantee())

    @pytest.mark.parametrize("rounds", [1, 2, 7, 1000])
    def test_every_budget_is_kept(self, rounds: int) -> None:
        for budget in (Budget(epsilon=1, delta="1e-6"), Budget(rho="0.1", delta="1e-9")):
            found = RunningHistogram.for_budget(budget, rounds, Sensitivity(2, 3), display="sticky").mechanism
            assert budget.allows(found.guarantee())
            assert (found.rounds, found.display) == (rounds, "sticky")
            if budget.rho is not None:
                assert found.guarantee().rho > budget.rho * Fraction(999, 1000)


def test_answers_hold_their_own_labels_only() -> None:
    mechanism = stream(3, QUIET)
    answers = mechanism.release([counted({"shown": 9, "SECRET": 1})], KEY)
    buffers = [buffer.to_pybytes() for buffer in answers[0].labels.buffers() if buffer is not None]
    assert answers[0].labels.to_pylist() == ["shown"]
    assert all(b"SECRET" not in held for held in buffers)
    assert isinstance(answers[0].labels, pa.StringArray)
