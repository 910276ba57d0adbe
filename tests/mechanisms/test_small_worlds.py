"""Every guarantee, checked exactly on all neighbours of worlds with two or three labels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from tests.mechanisms.promises import as_array, breach, breaches
from tests.mechanisms.small_worlds import (
    Thresholding,
    Topping,
    Window,
    by_count_then_label,
    histograms,
    mass_of,
    neighbours,
    ranking_law,
    ranking_weights,
)

from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity


def replace(items: int, count: int = 1) -> Sensitivity:
    return Sensitivity(items, count, "replace")


THRESHOLDED = [
    ThresholdHistogram(DiscreteLaplace(1), 3, Sensitivity(1)),
    ThresholdHistogram(DiscreteLaplace(1), 4, Sensitivity(2)),
    ThresholdHistogram(DiscreteLaplace(2), 7, Sensitivity(2, 2)),
    ThresholdHistogram(DiscreteLaplace(1), 3, replace(1)),
    ThresholdHistogram(DiscreteLaplace(1), 5, replace(2, 2)),
    ThresholdHistogram(DiscreteLaplace(1), 5, Sensitivity(1), minimum_count=3),
    ThresholdHistogram(DiscreteGaussian(1), 3, Sensitivity(1)),
    ThresholdHistogram(DiscreteGaussian(2), 4, Sensitivity(2)),
    ThresholdHistogram(DiscreteGaussian(4), 7, Sensitivity(2, 2)),
    ThresholdHistogram(DiscreteGaussian("0.5"), 2, Sensitivity(1)),
    ThresholdHistogram(DiscreteGaussian(1), 3, replace(1)),
    ThresholdHistogram(DiscreteGaussian(2), 6, Sensitivity(2), minimum_count=2),
]


def all_pairs(world: Thresholding | Topping, labels: int, largest: int, sensitivity: Sensitivity) -> Iterator:
    """Both laws and their good parts, for every two neighbours."""
    laws = {histogram: world.law(histogram) for histogram in histograms(labels, largest)}
    for a, b in neighbours(labels, largest, sensitivity):
        if a < b:
            parts = world.good_part(a, b), world.good_part(b, a)
            yield laws[a], laws[b], parts
            yield laws[b], laws[a], parts[::-1]


@pytest.mark.parametrize("mechanism", THRESHOLDED, ids=str)
def test_threshold_histogram_keeps_its_guarantee(mechanism: ThresholdHistogram) -> None:
    largest, mass = 3, mass_of(mechanism.law)
    window = Window(mechanism.threshold + 1, largest + 30)
    world = Thresholding(mechanism.threshold, mass, window, mechanism.minimum_count)
    pairs = all_pairs(world, 2, largest, mechanism.sensitivity)
    assert breaches(pairs, mechanism.guarantee()) == []


def test_threshold_histogram_attains_its_delta() -> None:
    mechanism = ThresholdHistogram(DiscreteLaplace(1), 3, Sensitivity(2))
    world = Thresholding(3, mass_of(mechanism.law), Window(4, 40))
    with_user, without = world.law((1, 1)), world.law((0, 0))
    assert with_user[without == 0].sum() == pytest.approx(float(mechanism.guarantee().delta), rel=1e-9)


TOP_WORLDS = [
    # (mechanism, labels, largest count, how far noise is written out)
    (TopHistogram(DiscreteLaplace(1), 4, 1, Sensitivity(1)), 2, 3, 14),
    (TopHistogram(DiscreteLaplace(1), 5, 1, Sensitivity(2, 2)), 2, 3, 14),
    (TopHistogram(DiscreteGaussian(1), 4, 1, Sensitivity(1)), 2, 3, 7),
    (TopHistogram(DiscreteGaussian(2), 5, 1, Sensitivity(2, 2)), 2, 3, 9),
    (TopHistogram(DiscreteGaussian(1), 3, 1, Sensitivity(None)), 2, 3, 7),
    (TopHistogram(DiscreteLaplace("0.4"), 2, 2, Sensitivity(1)), 3, 2, 5),
    (TopHistogram(DiscreteGaussian("0.5"), 2, 2, Sensitivity(2)), 3, 2, 4),
    (TopHistogram(DiscreteLaplace("0.4"), 2, 1, Sensitivity(2)), 3, 2, 5),
    (TopHistogram(DiscreteGaussian("0.5"), 2, 3, Sensitivity(1)), 3, 2, 4),
    (TopHistogram(DiscreteLaplace(1), 4, 1, replace(1)), 2, 3, 14),
    (TopHistogram(DiscreteGaussian(1), 4, 1, replace(1)), 2, 3, 7),
    (TopHistogram(DiscreteGaussian("0.5"), 3, 2, replace(1)), 3, 2, 4),
]


def topping(mechanism: TopHistogram, largest: int, reach: int) -> Topping:
    window = Window(mechanism.threshold - reach, mechanism.threshold + largest + reach)
    return Topping(mechanism.fetched, mechanism.threshold, mass_of(mechanism.law), window)


@pytest.mark.parametrize("case", TOP_WORLDS, ids=lambda case: f"{case[0]}, {case[1]} labels")
def test_top_histogram_keeps_its_guarantee_and_gives_its_threshold_away(case: tuple) -> None:
    mechanism, labels, largest, reach = case
    pairs = all_pairs(topping(mechanism, largest, reach), labels, largest, mechanism.sensitivity)
    assert breaches(pairs, mechanism.guarantee()) == []


def test_top_histogram_keeps_its_guarantee_where_small_counts_were_cut_off() -> None:
    mechanism = TopHistogram(DiscreteLaplace(1), 4, 1, Sensitivity(1))
    world = dataclasses.replace(topping(mechanism, 4, 14), smallest_listed=3)
    assert breaches(all_pairs(world, 2, 4, mechanism.sensitivity), mechanism.guarantee()) == []


def reversed_by_parity(world: tuple[int, ...]) -> list[int]:
    """Ties in an order that depends on the data, as rows from a `LIMIT` may come."""
    backwards = sum(world) % 2 == 1
    return sorted(range(len(world)), key=lambda label: (-world[label], -label if backwards else label))


def test_top_histogram_with_unknown_ties_survives_any_tie_order() -> None:
    mechanism = TopHistogram(DiscreteGaussian("0.5"), 2, 2, Sensitivity(1), ties="unknown")
    world = dataclasses.replace(topping(mechanism, 2, 4), order=reversed_by_parity)
    assert breaches(all_pairs(world, 3, 2, mechanism.sensitivity), mechanism.guarantee()) == []


RANKED = [
    TopK.at(Ranking(k, fetched, sensitivity), epsilon=epsilon, delta=delta)
    for k, fetched, sensitivity, epsilon, delta in [
        (1, 1, Sensitivity(1), 1, 0.05),
        (2, 1, Sensitivity(1), 1, 0.05),
        (2, 2, Sensitivity(2), 1, 0.2),
        (3, 2, Sensitivity(None), 1, 0.1),
        (3, 3, Sensitivity(1, 2), 2, 0.05),
        (4, 5, Sensitivity(2), "0.5", 0.2),
        (2, None, Sensitivity(1), 1, 0.05),
        (3, None, Sensitivity(2, 2), 1, 0.2),
        (1, 1, replace(1), 1, 0.05),
        (2, 2, replace(1), 1, 0.2),
        (3, None, replace(1), 1, 0.1),
    ]
]


def ranking_breaches(mechanism: TopK, labels: int, largest: int, floor: int = 0) -> list[str]:
    """Every way in which neighbours break a ranking's guarantee; labels up to `floor` were cut off before."""
    ranking, rate = mechanism.ranking, float(mechanism.epsilon) / mechanism.ranking.sensitivity.count
    weights = {
        histogram: ranking_weights(histogram, ranking.fetched, float(mechanism.threshold), rate, floor)
        for histogram in histograms(labels, largest)
    }
    laws = {histogram: ranking_law(weight, ranking.k) for histogram, weight in weights.items()}
    found = []
    for a, b in neighbours(labels, largest, ranking.sensitivity):
        outcomes = sorted(laws[a].keys() | laws[b].keys())
        p, q = as_array(laws[a], outcomes), as_array(laws[b], outcomes)
        good_p = as_array(good_part(weights[a], weights[b], ranking.k), outcomes)
        good_q = as_array(good_part(weights[b], weights[a], ranking.k), outcomes)
        assert np.all(good_p <= p + 1e-12)
        assert np.all(good_q <= q + 1e-12)
        # The proof compares the conditional laws: both parts are thinned to the same mass.
        least = min(good_p.sum(), good_q.sum())
        parts = good_p * least / good_p.sum(), good_q * least / good_q.sum()
        found.append(breach(p, q, parts, mechanism.guarantee()))
    return [how for how in found if how is not None]


@pytest.mark.parametrize("mechanism", RANKED, ids=lambda m: str(m.ranking))
def test_top_k_keeps_its_guarantee(mechanism: TopK) -> None:
    assert ranking_breaches(mechanism, labels=3, largest=2) == []


@pytest.mark.parametrize("fetched", [1, None])
def test_top_k_keeps_its_guarantee_where_small_counts_were_cut_off(fetched: int | None) -> None:
    """⊥ then stands above what was cut off; above nothing at all it would be too low."""
    mechanism = TopK.at(Ranking(2, fetched, Sensitivity(1)), epsilon=1, delta=0.05)
    assert ranking_breaches(mechanism, labels=2, largest=5, floor=3) == []
    own = ranking_weights((4,), fetched, float(mechanism.threshold), 1.0, floor=0)
    assert own["0"] / (own["0"] + own["⊥"]) > 0.05


def good_part(own: dict, other: dict, k: int) -> dict:
    """The law together with the event that ⊥ beats every label that the other side does not rank.

    By the proof it is the ranking of the common labels against a ⊥ whose weight was raised by theirs, times the
    chance of the event.
    """
    leaving = sum(weight for name, weight in own.items() if name not in other)
    raised = {name: weight for name, weight in own.items() if name in other}
    chance = own["⊥"] / (own["⊥"] + leaving)
    raised["⊥"] = own["⊥"] + leaving
    return {outcome: chance * p for outcome, p in ranking_law(raised, k).items()}


def test_the_law_given_that_bottom_beats_the_leaving_labels_is_exactly_a_ranking_with_a_raised_bottom() -> None:
    """In exact fractions: P(outcome and event), counted directly, against the product that the proof claims."""
    own = {"a": Fraction(8), "b": Fraction(4), "leaving": Fraction(2), "also": Fraction(3), "⊥": Fraction(16)}
    others = {"a": Fraction(8), "b": Fraction(4), "⊥": Fraction(8)}
    leaving = own["leaving"] + own["also"]
    for k in (1, 2, 3):
        claimed = good_part(own, others, k)
        for outcome, chance in ranking_law(own, k).items():
            if {"leaving", "also"} & set(outcome):
                continue
            # ⊥ has come up, or it still has to beat them among all who remain: the race has no memory.
            met = chance if outcome[-1] == "⊥" else chance * own["⊥"] / (own["⊥"] + leaving)
            assert claimed.pop(outcome) == met
        assert claimed == {}


def test_every_draw_of_a_raised_bottom_costs_an_eighth_of_epsilon_squared() -> None:
    """D_λ(P'‖Q') <= λ·k·ε²/8 for the conditional laws, at λ up to 100, and nearly attained by one draw."""
    worst = 0.0
    mechanism = TopK.at(Ranking(2, 2, Sensitivity(1)), epsilon=1, delta=0.2)
    for a, b in neighbours(3, 3, Sensitivity(1)):
        own = ranking_weights(a, 2, float(mechanism.threshold), 1.0)
        other = ranking_weights(b, 2, float(mechanism.threshold), 1.0)
        part, other_part = good_part(own, other, 2), good_part(other, own, 2)
        p, q = as_array(part, sorted(part)), as_array(other_part, sorted(part))
        p, q = p / p.sum(), q / q.sum()
        for order in (1.001, 1.5, 2, 5, 20, 100):
            divergence = np.log((p**order * q ** (1 - order)).sum()) / (order - 1)
            assert divergence <= order * 2 / 8 + 1e-9
            worst = max(worst, divergence / order)
    assert worst > 1 / 16


def test_counts_of_the_winners_cost_noise_on_at_most_k_of_them() -> None:
    """Two winners, released counts: δ(ε) of both coordinates moved is within the stated price."""
    law = DiscreteGaussian(2)
    mechanism = TopK.at(Ranking(2, 3, Sensitivity(None)), epsilon=1, delta=0.1, counts_law=law)
    window = Window(-15, 20)
    mass = mass_of(law)
    plain = [np.array([mass(value - count) for value in window.values]) for count in (2, 3)]
    moved = [np.array([mass(value - count) for value in window.values]) for count in (3, 4)]
    p, q = np.outer(*plain).ravel(), np.outer(*moved).ravel()
    assert breach(p, q, (p, q), mechanism.counts_price()) is None
    one_only = Guarantee(law.rho(1), Fraction(0))
    assert breach(p, q, (p, q), one_only) is not None


def test_neighbours_are_the_ones_that_the_definition_names() -> None:
    assert set(neighbours(2, 1, Sensitivity(1))) == {
        ((0, 0), (0, 1)), ((0, 0), (1, 0)), ((0, 1), (1, 1)), ((1, 0), (1, 1)),
        ((0, 1), (0, 0)), ((1, 0), (0, 0)), ((1, 1), (0, 1)), ((1, 1), (1, 0)),
    }  # fmt: skip
    assert ((0, 1), (1, 0)) in neighbours(2, 1, replace(1))
    assert ((0, 0), (1, 1)) not in neighbours(2, 1, replace(1))
    assert ((0, 2), (1, 0)) in neighbours(2, 2, replace(1, 2))


def test_laws_are_laws() -> None:
    mass = mass_of(DiscreteGaussian(2))
    assert math.fsum(mass(z) for z in range(-60, 61)) == pytest.approx(1, abs=1e-14)
    assert Topping(1, 3, mass, Window(-12, 20)).law((2, 1, 0)).sum() == pytest.approx(1, abs=1e-9)
    assert Thresholding(3, mass, Window(4, 30)).law((2, 1)).sum() == pytest.approx(1, abs=1e-12)
    assert sum(ranking_law({"a": Fraction(2), "b": Fraction(1), "⊥": Fraction(5)}, 2).values()) == 1
    assert by_count_then_label((1, 2, 1)) == [1, 0, 2]
