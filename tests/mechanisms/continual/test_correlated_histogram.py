"""The histogram with correlated noise against its plain reference, its memory, its budget and its refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.continual.binary_reference import Round
from tests.mechanisms.continual.correlated_reference import plainly

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.correlated import noise as correlated_noise
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.correlated.noise import KeyedRecursion
from unlisted.mechanisms.continual.correlated.price import class_ends
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.mechanisms.continual.stream_state import StreamState
from unlisted.mechanisms.continual.tag_table import Column
from unlisted.mechanisms.mechanism import Answer
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
KEY = NoiseKey(bytes(range(32)))
NOISY = WideGaussian(Fraction(2 << 18))
"""About one and a half counts on the grid of a short stream."""
QUIET = WideGaussian(Fraction(1 << 10))
"""A sixteenth of a count there: what remains is the counting."""
STREAMS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "", "é"]), st.integers(0, 4), max_size=4), max_size=8
)


def stream(
    rounds: int, law: WideGaussian = NOISY, threshold: int = 3, display: str = "live", every: int = 1
) -> CorrelatedHistogram:
    steps = rounds // every
    thresholds = (threshold,) * len(class_ends(steps))
    return CorrelatedHistogram(law, Recursion.for_steps(steps), thresholds, rounds, ONE, display, every)


def counted(one: Round) -> BoundedCounts:
    return BoundedCounts.from_dict(one, ONE)


def rows(answer: Answer) -> list[tuple[object, int]]:
    return list(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))


def after(mechanism: CorrelatedHistogram, rounds: list[Round], key: NoiseKey = KEY) -> StreamState:
    state = mechanism.start(key)
    for one in rounds:
        state, _ = mechanism.step(state, counted(one))
    return state


class TestAgainstItsReference:
    @given(
        STREAMS,
        st.sampled_from(["live", "sticky"]),
        st.integers(0, 60),
        st.integers(1, 3),
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

    def test_longer_than_the_first_classes(self) -> None:
        rounds: list[Round] = [{}] * 33 + [{"late": 9}, {}, {"later": 9}]
        mechanism = stream(40)
        answers = mechanism.release([counted(one) for one in rounds], KEY)
        assert [rows(answer) for answer in answers] == plainly(mechanism, rounds, KEY)

    def test_thresholds_go_by_class(self) -> None:
        ends = class_ends(40)
        thresholds = tuple(1000 if place % 2 else 1 for place in range(len(ends)))
        mechanism = replace(stream(40, QUIET), thresholds=thresholds)
        answers = mechanism.release([counted({"a": 50})] + [counted({})] * 39, KEY)
        assert [len(answer) for answer in answers[:4]] == [1, 0, 1, 0]
        # Rounds 32 and 33 share their first five digits, 34 and 35 the next.
        assert [len(answer) for answer in answers[31:37]] == [0, 0, 1, 1, 0, 0]


class TestReplay:
    @settings(max_examples=20)
    @given(st.integers(2, 12), st.binary(min_size=32, max_size=32))
    def test_a_late_label_has_the_noise_of_one_that_was_always_there(self, late: int, secret: bytes) -> None:
        """Bit for bit: its numbers are those of the recursion from step 1 on, under the chains of all steps."""
        mechanism, key = stream(16), NoiseKey(secret)
        state = after(mechanism, [{"old": 1}] * (late - 1) + [{"new": 1, "newer": 1}, {"old": 2}], key)
        noise = KeyedRecursion(key, mechanism.law, mechanism.recursion)
        always = mechanism.recursion.start(3)
        for step, chain in enumerate(state.noise.chains.values, start=1):
            always = noise.after([noise.name(step, chain.tobytes())], state.tags.values, always)
        assert np.array_equal(always, state.noise.numbers)

    def test_many_labels_and_many_steps_in_any_portions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mechanism = stream(64)
        first: Round = {str(i): 1 for i in range(70)}
        rounds = [first, *[{}] * 20, {str(i): 1 for i in range(60, 190)}]
        whole = after(mechanism, rounds).noise.numbers
        monkeypatch.setattr("unlisted.mechanisms.continual.correlated.noise._AT_ONCE", 32)
        assert np.array_equal(after(mechanism, rounds).noise.numbers, whole)

    def test_a_replay_that_skips_a_step_is_seen(self) -> None:
        mechanism = stream(16)
        state = after(mechanism, [{"old": 1}] * 5 + [{"new": 1}])
        noise = KeyedRecursion(KEY, mechanism.law, mechanism.recursion)
        names = [
            noise.name(step, chain.tobytes()) for step, chain in enumerate(state.noise.chains.values, start=1)
        ]
        new = state.tags.values[1:]
        assert np.array_equal(noise.after(names, new, mechanism.recursion.start(1)), state.noise.numbers[:, 1:])
        for missing in range(6):
            fewer = names[:missing] + names[missing + 1 :]
            assert not np.array_equal(
                noise.after(fewer, new, mechanism.recursion.start(1)), state.noise.numbers[:, 1:]
            )


class TestPersistence:
    ROUNDS = ({"a": 5, "b": 3}, {"c": 9}, {"a": 1})

    def answers(self, rounds: tuple[Round, ...], key: NoiseKey = KEY) -> list[list]:
        mechanism = stream(8, WideGaussian(Fraction(10**12)), 1)
        return [rows(answer) for answer in mechanism.release([counted(one) for one in rounds], key)]

    def test_the_same_key_and_contents_give_the_same_answers(self) -> None:
        assert self.answers(self.ROUNDS) == self.answers(self.ROUNDS)
        assert self.answers(({"b": 3, "a": 5}, {"c": 9}, {"a": 1})) == self.answers(self.ROUNDS)
        assert self.answers(self.ROUNDS, NoiseKey(bytes(32))) != self.answers(self.ROUNDS)

    def test_the_answers_of_a_known_key_never_change(self) -> None:
        """A stream outlives the program that began it: other bits from the same key would be a second release."""
        mechanism = stream(8, WideGaussian(Fraction(100 << 18)), 1)
        rounds = [{"a": 100, "": 100}, {"é": 100}, {"a": 50}]
        answers = mechanism.release([counted(one) for one in rounds], KEY)
        assert [rows(answer) for answer in answers] == GOLDEN

    def test_after_other_contents_every_draw_is_another_one(self) -> None:
        """One more event in round 2: no label shares any of its noise from there on, however alike the rounds."""
        mechanism = stream(8, WideGaussian(Fraction(10**12)), 1)
        labels: Round = {f"label {i}": 5 for i in range(40)}

        def increments(second: Round) -> list[np.ndarray]:
            totals = [
                after(mechanism, [labels, second, labels, labels][:t]).noise.numbers[0, :40] for t in range(1, 5)
            ]
            return [totals[0], *(b - a for a, b in itertools.pairwise(totals))]

        one, other = increments(labels), increments(labels | {"label 0": 6})
        assert np.array_equal(one[0], other[0])
        for t in (1, 2, 3):
            assert np.count_nonzero(one[t] == other[t]) < 3
        # What a common draw would show: the difference of two copies would be nearly constant.
        for t in (2, 3):
            assert np.std(one[t] - other[t]) > 10**6 / 2

    def test_draws_that_are_named_by_their_own_round_only_tell_counts(self) -> None:
        """The mistake: a digest of the round alone. Two copies that part in round 2 and are then brought the same
        have equal draws in round 3, and the difference of their answers gives the difference of their counts."""
        mechanism = stream(8, WideGaussian(Fraction(10**12)), 1)
        recursion = mechanism.recursion
        noise = KeyedRecursion(KEY, mechanism.law, recursion)
        tags = KEY.tags(b"%d" % i for i in range(400))

        def published(second: bytes, more: int, third: bytes) -> np.ndarray:
            """The increments v = g·x + n of rounds 2 and 3, where round 2 brings `more` to every label."""
            numbers, found = recursion.start(400), []
            for step, chain, x in ((1, b"first", 0), (2, second, more), (3, third, 0)):
                before = numbers[0].copy()
                numbers = noise.after([noise.name(step, chain)], tags, numbers)
                found.append((x << recursion.grid) + numbers[0] - before)
            return np.stack(found)

        for more in (0, 7):
            # With c_1 of the difference in round 2 put back, a common draw of round 3 cancels.
            one, other = published(b"one", 0, b"same"), published(b"other", more, b"same")
            c_1 = sum(recursion.weights) / (1 << recursion.precision)
            told = ((other - one)[2] / c_1 + (other - one)[1]) / (1 << recursion.grid)
            assert np.all(np.abs(told - more) < 0.1)
            one, other = published(b"one", 0, b"one and same"), published(b"other", more, b"other and same")
            told = ((other - one)[2] / c_1 + (other - one)[1]) / (1 << recursion.grid)
            assert np.std(told) > 1000

    def test_equal_contents_in_other_rounds_have_draws_of_their_own(self) -> None:
        mechanism = stream(8, WideGaussian(Fraction(10**12)), 1)
        state = after(mechanism, [{str(i): 1 for i in range(40)}] * 3)
        assert len({chain.tobytes() for chain in state.noise.chains.values}) == 3

    def test_laws_and_recursions_have_bits_of_their_own(self) -> None:
        base = KeyedRecursion(KEY, NOISY, Recursion.for_steps(8))
        others = [replace(base, law=QUIET), replace(base, recursion=Recursion.for_steps(9)), base]
        assert len({one.name(1, b"x") for one in others}) == 3
        assert base.name(1, b"x") != base.name(2, b"x") != base.name(1, b"y")

    def test_a_state_can_be_stepped_from_twice(self) -> None:
        mechanism = stream(8, display="sticky")
        state = after(mechanism, [{"a": 9}])
        first = mechanism.step(state, counted({"b": 9}))[1]
        mechanism.step(state, counted({"c": 9, "d": 1}))
        again = mechanism.step(state, counted({"b": 9}))[1]
        assert rows(first) == rows(again)

    def test_a_state_made_of_saved_arrays_goes_on(self) -> None:
        """Nothing but these arrays is needed, and five numbers of noise for each label."""
        mechanism = stream(8, display="sticky", every=2)
        rounds: list[Round] = [{"a": 9}, {"b": 4}, {"c": 2}]
        state = after(mechanism, rounds)
        assert state.noise.numbers.shape == (5, 2)
        assert state.noise.numbers.dtype == np.int64
        last: Round = {"a": 1, "e": 30}
        for numbers, drawn in ((state.noise.numbers.copy(), 1), (mechanism.recursion.start(0), 0)):
            saved = StreamState(
                key=KEY,
                round=state.round,
                labels=state.labels,
                totals=state.totals.copy(),
                tags=Column(state.tags.values.copy()),
                shown=state.shown.copy(),
                noise=replace(
                    mechanism.no_noise(),
                    chains=Column(state.noise.chains.values.copy()),
                    numbers=numbers,
                    drawn=drawn,
                ),
                begun=state.begun,
            )
            assert rows(mechanism.step(saved, counted(last))[1]) == rows(mechanism.step(state, counted(last))[1])
            assert plainly(mechanism, [*rounds, last], KEY)[-1] == rows(mechanism.step(saved, counted(last))[1])

    def test_noise_is_kept_when_drawing_it_again_would_take_several_steps(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And noise that was kept after any step is caught up with, bit for bit, with labels that came since."""
        monkeypatch.setattr(correlated_noise, "_STEPS_AGAIN", 4)
        mechanism = stream(16)
        rounds: list[Round] = [{"a": 9}, {"b": 4}, {}, {"c": 2, "d": 1}, {}, {}, {"e": 1}, {}, {}]
        state, kept = mechanism.start(KEY), []
        for number, one in enumerate(rounds, start=1):
            state, _ = mechanism.step(state, counted(one))
            found = state.noise.to_keep()
            if found is not None:
                kept.append(number)
                again = mechanism.no_noise().with_chains(chain.tobytes() for chain in state.noise.chains.values)
                again = again.with_kept(*found)
                state = replace(state, noise=state.noise.with_kept(*found))
        assert kept == [5, 9]
        assert again.to_keep() is None
        whole = again.caught_up(KEY, state.tags.values)
        assert np.array_equal(whole.numbers, state.noise.numbers)
        early = mechanism.no_noise().with_chains(chain.tobytes() for chain in state.noise.chains.values)
        first = after(mechanism, rounds[:3])
        early = early.with_kept(3, first.noise.numbers).caught_up(KEY, state.tags.values)
        assert np.array_equal(early.numbers, state.noise.numbers)

    def test_neither_key_nor_noise_is_in_the_repr(self) -> None:
        state = after(stream(8), [{"a": 1}])
        assert "numbers" not in repr(state)
        assert str(KEY.to_bytes()) not in repr(KeyedRecursion(KEY, NOISY, Recursion.for_steps(8)))


class TestRounds:
    def test_sticky_keeps_what_was_shown_and_both_cost_the_same(self) -> None:
        live, sticky = (
            replace(stream(4, QUIET, display=display), thresholds=(10, 10, 60, 60))
            for display in ("live", "sticky")
        )
        rounds = [counted({"a": 20}), counted({"b": 20}), counted({"a": 1})]
        assert [rows(answer) for answer in live.release(rounds, KEY)] == [
            [("a", 20)],
            [("a", 20), ("b", 20)],
            [],
        ]
        assert [rows(answer) for answer in sticky.release(rounds, KEY)][2] == [("a", 21), ("b", 20)]
        assert live.guarantee() == sticky.guarantee()

    def test_empty_rounds_are_rounds(self) -> None:
        answers = stream(5).release([counted({})] * 5, KEY)
        assert [len(answer) for answer in answers] == [0] * 5
        late = stream(5, QUIET).release([*[counted({})] * 4, counted({"a": 9})], KEY)
        assert rows(late[-1]) == [("a", 9)]

    def test_after_the_last_round_the_stream_is_over(self) -> None:
        with pytest.raises(InvalidArgumentError, match="round = 4 is not allowed: it must be at most 3"):
            stream(3).release([counted({"a": 1})] * 4, KEY)

    @pytest.mark.parametrize("count", [2**62 - 1, 2**63, 2**70])
    def test_rounds_saturate_and_totals_never_wrap(self, count: int) -> None:
        answers = stream(5, QUIET).release([counted({"a": count, "b": 7})] * 5, KEY)
        most = 2**62 // 5
        assert [rows(answer) for answer in answers] == [[("a", t * most), ("b", 7 * t)] for t in range(1, 6)]

    def test_every_answer_names_the_price_of_the_whole_stream(self) -> None:
        mechanism = stream(3)
        for answer in mechanism.release([counted({"a": 9})] * 3, KEY):
            assert answer.spent == mechanism.guarantee()

    def test_answers_hold_their_own_labels_only(self) -> None:
        answers = stream(3, QUIET).release([counted({"shown": 9, "SECRET": 1})], KEY)
        buffers = [buffer.to_pybytes() for buffer in answers[0].labels.buffers() if buffer is not None]
        assert answers[0].labels.to_pylist() == ["shown"]
        assert all(b"SECRET" not in held for held in buffers)
        assert isinstance(answers[0].labels, pa.StringArray)


class TestForBudget:
    BUDGET = Budget(epsilon=1, delta="1e-8")

    @pytest.mark.parametrize(
        ("rounds", "thresholds", "mean"),
        [(365, (65, 86, 102, 110), 104), (8760, (80, 107, 127, 157), 151)],
    )
    def test_thresholds_are_as_low_as_the_theory_says(
        self, rounds: int, thresholds: tuple[int, ...], mean: int
    ) -> None:
        """theory.md at t = 1, 10, 100 and L: 65, 86, 102, 110 for a year of days on a ρ account."""
        found = CorrelatedHistogram.for_budget(self.BUDGET, rounds, ONE).mechanism
        ours = [found.threshold_after(t) for t in range(1, rounds + 1)]
        assert all(
            found.threshold_after(t) <= most for t, most in zip((1, 10, 100, rounds), thresholds, strict=True)
        )
        assert sum(ours) / rounds <= mean
        assert ours == sorted(ours), "they never fall, and never jump"
        assert max(b - a for a, b in itertools.pairwise(ours[9:])) <= 4
        assert self.BUDGET.allows(found.guarantee())

    @pytest.mark.parametrize(("rounds", "gain"), [(365, 2.1), (8760, 2.4)])
    def test_the_tree_is_far_behind(self, rounds: int, gain: float) -> None:
        tree = RunningHistogram.for_budget(self.BUDGET, rounds, ONE).mechanism
        ours = CorrelatedHistogram.for_budget(self.BUDGET, rounds, ONE).mechanism
        means = [sum(one.threshold_after(t) for t in range(1, rounds + 1)) / rounds for one in (tree, ours)]
        assert means[0] > gain * means[1]
        assert max(tree.thresholds) > 1.3 * gain * max(ours.thresholds)

    @pytest.mark.parametrize("rounds", [1, 2, 7, 1000])
    def test_every_budget_is_kept(self, rounds: int) -> None:
        for budget in (Budget(epsilon=1, delta="1e-6"), Budget(rho="0.1", delta="1e-9")):
            found = CorrelatedHistogram.for_budget(budget, rounds, Sensitivity(2, 3), display="sticky").mechanism
            assert budget.allows(found.guarantee())
            assert (found.rounds, found.display) == (rounds, "sticky")
            if budget.rho is not None:
                assert found.guarantee().rho > budget.rho * Fraction(999, 1000)

    @pytest.mark.parametrize("course", [{"rounds_per_unit": 30}, {"every": 7, "rounds_per_unit": 10}])
    def test_users_of_several_rounds(self, course: dict[str, int]) -> None:
        found = CorrelatedHistogram.for_budget(self.BUDGET, 365, Sensitivity(3), **course).mechanism
        assert self.BUDGET.allows(found.guarantee())
        tree = RunningHistogram.for_budget(self.BUDGET, 365, Sensitivity(3), **course).mechanism
        assert max(found.thresholds) < max(tree.thresholds)

    def test_wide_noise_gets_a_coarser_grid(self) -> None:
        finest = Recursion.for_steps(8760)
        found = CorrelatedHistogram.for_budget(
            Budget(epsilon="0.01", delta="1e-9"), 8760, Sensitivity(30)
        ).mechanism
        assert 2 <= found.recursion.grid < finest.grid
        assert found.recursion == finest.coarser(found.recursion.grid)

    def test_a_budget_too_small_for_64_bits_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="let one unit change less"):
            CorrelatedHistogram.for_budget(Budget(rho="1e-10", delta="1e-9"), 8760, Sensitivity(1000))


class TestEscape:
    def test_first_touch_is_an_event_of_as_many_items(self) -> None:
        """At most N labels, one step each: the same squares and the same places as N labels in one round."""
        mechanism = stream(8, WideGaussian(Fraction(10**8)), 200)
        many = replace(mechanism, sensitivity=Sensitivity(5))
        assert many.price().rho == 5 * mechanism.price().rho
        assert many.failure() == pytest.approx(5 * mechanism.failure(), rel=1e-9)

    def test_either_end_can_be_the_worst(self) -> None:
        """All rounds in one label, or every round in another: the larger chance for each round counts."""
        for scale, above, rounds in ((2, 9, 4), (2000, 9000, 1)):
            law = WideGaussian(Fraction(scale**2 << 12))
            recursion = Recursion.for_steps(4).coarser(6)
            thresholds = tuple(min(t, 4) + above for t in range(1, 5))
            users = CorrelatedHistogram(law, recursion, thresholds, 4, ONE, rounds_per_unit=4)
            counts = [min(t, rounds) - 1 for t in range(1, 5)]
            alone = CorrelatedHistogram(
                law, recursion, tuple(t - c for t, c in zip(thresholds, counts, strict=True)), 4, ONE
            )
            assert users.failure() <= 4 * alone.failure() * Fraction(1001, 1000)
            assert users.failure() >= Fraction(999, 1000) * 4 * alone.failure() / rounds

    def test_it_falls_with_thresholds_and_rises_with_rounds(self) -> None:
        mechanism = stream(8, WideGaussian(Fraction(10**7)), 60)
        assert replace(mechanism, thresholds=(61,) * 8).failure() < mechanism.failure()
        assert replace(mechanism, rounds_per_unit=3).failure() > mechanism.failure()
        assert stream(8, WideGaussian(Fraction(10**7)), 1).failure() == 1


class TestRefusals:
    @pytest.mark.parametrize("rounds", [0, -1, 1.5, None, True])
    def test_rounds(self, rounds: object) -> None:
        with pytest.raises(InvalidArgumentError, match="rounds = "):
            CorrelatedHistogram(QUIET, Recursion.for_steps(4), (5,), rounds, ONE)
        with pytest.raises(InvalidArgumentError, match="rounds = "):
            CorrelatedHistogram.for_budget(Budget(rho=1, delta="1e-6"), rounds, ONE)

    @pytest.mark.parametrize("name", ["every", "rounds_per_unit"])
    def test_more_than_all_rounds(self, name: str) -> None:
        with pytest.raises(InvalidArgumentError, match=f"{name} = 5 is not allowed: it must be at most 4"):
            replace(stream(4), **{name: 5})
        with pytest.raises(InvalidArgumentError, match=f"{name} = 5 is not allowed: it must be at most 4"):
            CorrelatedHistogram.for_budget(Budget(rho=1, delta="1e-6"), 4, ONE, **{name: 5})

    @pytest.mark.parametrize("thresholds", [(), (5,), (5,) * 6, (5, 5, 5, 5, 1.5)])
    def test_one_threshold_for_each_class(self, thresholds: tuple[int, ...]) -> None:
        with pytest.raises(InvalidArgumentError, match="thresholds = "):
            replace(stream(5), thresholds=thresholds)

    def test_what_a_stream_cannot_be(self) -> None:
        with pytest.raises(InvalidArgumentError, match="items = None"):
            replace(stream(4), sensitivity=Sensitivity(None))
        with pytest.raises(InvalidArgumentError, match="adjacency = 'replace'"):
            replace(stream(4), sensitivity=Sensitivity(1, 1, "replace"))
        with pytest.raises(InvalidArgumentError, match="display = 'frozen'"):
            stream(4, display="frozen")

    def test_noise_that_leaves_no_room(self) -> None:
        fine = Recursion((2**31,), (2**30,), 32, 20, 9)
        with pytest.raises(InvalidArgumentError, match="coarse enough for 64-bit integers"):
            replace(stream(4), recursion=fine, law=WideGaussian(Fraction(10**9)))

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

    def test_labels_of_another_type_are_refused(self) -> None:
        with pytest.raises(InvalidCountsError, match="another type than the stream's"):
            stream(3).release([counted({"a": 1}), counted({1: 1})], KEY)


GOLDEN: list[list[tuple[str, int]]] = [
    [("a", 106), ("", 90)],
    [("a", 114), ("é", 114), ("", 104)],
    [("a", 162), ("é", 105), ("", 78)],
]
