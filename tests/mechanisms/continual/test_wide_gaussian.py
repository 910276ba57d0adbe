"""Two tables that make one wide law: what they lose, what they draw, and that bits belong to names."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.small_worlds import mass_of
from tests.statistical.goodness import distance_test, g_test

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.correlated import wide_gaussian
from unlisted.mechanisms.continual.correlated.wide_gaussian import (
    LARGEST_VARIANCE,
    SideBySide,
    WideGaussian,
    inexact_up,
    reach_of,
    split_of,
)
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.normal import theta_excess_up
from unlisted.noise.gaussian.tails import tail_up
from unlisted.noise.keyed import NoiseKey

KEY = NoiseKey(bytes(range(32)))
LABELS = KEY.tags(str(i).encode() for i in range(40_000))


class TestSplit:
    @given(st.fractions(512**2 + 1, LARGEST_VARIANCE - 1))
    def test_the_parts_add_up_and_fit_into_tables(self, variance: Fraction) -> None:
        found = split_of(variance)
        assert found is not None
        shift, coarse, fine = found
        assert 4**shift * coarse + fine == variance
        assert fine == 6 * 4**shift
        assert 0 < coarse <= 4096**2
        assert fine <= 4096**2
        assert coarse * fine / variance > Fraction(59, 10)

    def test_a_narrow_law_is_one_table(self) -> None:
        assert split_of(Fraction(512**2)) is None

    @pytest.mark.parametrize("overlap", [0.08, 0.15, 0.3])
    def test_no_mass_is_lower_than_the_claim(self, overlap: float) -> None:
        """With so little overlap that floats can see what is lost; the same formulas as with six."""
        unit, coarse = 4, Fraction(9)
        fine = Fraction(overlap).limit_denominator(1000) * unit**2
        variance = unit**2 * coarse + fine
        laws = {
            name: mass_of(DiscreteGaussian(part)) for name, part in (("x", coarse), ("y", fine), ("z", variance))
        }
        lost = sum(float(theta_excess_up(part)) - 1 for part in (coarse * fine / variance, coarse, fine))
        ratios = []
        for z in range(-30, 31):
            together = math.fsum(laws["x"](k) * laws["y"](z - unit * k) for k in range(-60, 61))
            ratios.append(together / laws["z"](z))
        assert min(ratios) >= 1 - lost - 1e-12
        assert min(ratios) < 1 - lost / 20, "and the claim is not idle"

    def test_what_is_lost_is_nothing_anybody_feels(self) -> None:
        variance = Fraction(88_000**2)
        assert 0 < inexact_up(variance, 8192) < Fraction(1, 10**48)
        assert inexact_up(Fraction(100), 10) < Fraction(1, 10**300)
        assert inexact_up(variance, reach_of(variance)) == 1

    @pytest.mark.parametrize("variance", [Fraction(100), Fraction(88_000**2), Fraction(10**9, 7)])
    def test_what_is_lost_is_rounded_up(self, variance: Fraction) -> None:
        lost = 2 * tail_up(reach_of(variance) - 2 * 10 + 1, variance)
        parts = split_of(variance)
        if parts is not None:
            _, coarse, fine = parts
            lost += sum(theta_excess_up(one) - 1 for one in (coarse * fine / variance, coarse, fine))
        assert lost <= inexact_up(variance, 10) <= lost * (1 + Fraction(1, 10**6))


class TestDraws:
    @pytest.mark.parametrize("variance", [Fraction(30), Fraction(700**2), Fraction(40_000**2, 3)])
    def test_they_follow_the_law(self, variance: Fraction) -> None:
        law = WideGaussian(variance)
        drawn = law.sample(KEY, [b"one", b"two", b"three"], LABELS)
        scale = math.sqrt(variance)
        width = max(1, int(scale / 8))
        reach = int(12 * scale)
        mass = mass_of(DiscreteGaussian(variance)) if variance < 10**6 else None
        density = (
            np.array([mass(z) for z in range(-reach, reach + 1)])
            if mass
            else np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(variance)))
        )
        density /= density.sum()
        bins = np.floor_divide(np.arange(-reach, reach + 1), width)
        masses = {int(b): float(density[bins == b].sum()) for b in np.unique(bins)}
        values = np.floor_divide(drawn.ravel(), width)
        verdict = g_test(values, masses)
        assert not verdict.rejected, verdict
        narrow = g_test(np.floor_divide((drawn.ravel() * 0.98).astype(np.int64), width), masses)
        assert narrow.rejected, "a scale that is off by a fiftieth is seen"

    def test_every_residue_is_as_likely_as_it_should_be(self) -> None:
        """The fine part fills the gaps of the coarse one: left out, or too narrow, residues would show it."""
        law = WideGaussian(Fraction(40_000**2))
        shift, _, _ = split_of(law.variance)
        drawn = law.sample(KEY, [b"a", b"b"], LABELS).ravel() % (1 << shift)
        even = dict.fromkeys(range(1 << shift), 1 / (1 << shift))
        assert not distance_test(drawn, even).rejected
        assert not g_test(drawn, even).rejected

    def test_draws_of_a_known_key_never_change(self) -> None:
        """A stream outlives the program that began it."""
        assert WideGaussian(Fraction(88_000**2)).sample(KEY, [b"1", b"2"], LABELS[:4]).tolist() == GOLDEN_WIDE
        assert WideGaussian(Fraction(10)).sample(KEY, [b"1", b"2"], LABELS[:4]).tolist() == GOLDEN_NARROW

    def test_draws_belong_to_names_and_tags(self) -> None:
        law = WideGaussian(Fraction(10**8))
        both = law.sample(KEY, [b"one", b"two"], LABELS[:50])
        assert np.array_equal(both[1:], law.sample(KEY, [b"two"], LABELS[:50]))
        assert np.array_equal(both[:, 20:], law.sample(KEY, [b"one", b"two"], LABELS[20:50]))
        assert np.count_nonzero(both[0] == both[1]) < 3

    def test_the_two_parts_have_bits_of_their_own(self) -> None:
        law = WideGaussian(Fraction(10**10))
        _, coarse, fine = law._parts
        high = coarse.sample_each(SideBySide(KEY, [b"n:coarse"], LABELS))
        low = fine.sample_each(SideBySide(KEY, [b"n:fine"], LABELS))
        assert abs(np.corrcoef(high, low)[0, 1]) < 0.03

    def test_no_draw_exceeds_the_reach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It takes e^-2048 to see one; so the reach is brought closer here."""
        monkeypatch.setattr(wide_gaussian, "_DEVIATIONS", 1)
        law = WideGaussian(Fraction(10**8))
        drawn = law.sample(KEY, [b"one"], LABELS)
        assert np.abs(drawn).max() == law.reach == 10_001
        assert np.count_nonzero(np.abs(drawn) == law.reach) > 10_000

    def test_several_names_at_once_draw_what_each_draws(self) -> None:
        table = DiscreteGaussian(Fraction(4000**2))
        names = [b"%d" % i for i in range(7)]
        together = table.sample_each(SideBySide(KEY, names, LABELS[:500])).reshape(7, 500)
        for row, name in zip(together, names, strict=True):
            assert np.array_equal(row, table.sample_each(KEY.draws(name, LABELS[:500])))
        side = SideBySide(KEY, names, LABELS[:500])
        assert len(side) == 3500
        assert side.more(1234).take(8) == KEY.draws(b"2", LABELS[:500]).more(234).take(8)


def test_a_law_too_wide_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="Take a coarser grid"):
        WideGaussian(Fraction(LARGEST_VARIANCE))


def test_no_two_laws_have_one_name() -> None:
    laws = [WideGaussian(Fraction(n, d)) for n, d in ((1, 2), (12, 1), (1, 12), (11, 2))]
    assert len({law.encoded() for law in laws}) == 4


GOLDEN_WIDE: list[list[int]] = [[25180, 220530, -31920, 5625], [-48745, 143996, -51825, -52343]]
GOLDEN_NARROW: list[list[int]] = [[7, 0, 2, 2], [4, -3, -2, 4]]
