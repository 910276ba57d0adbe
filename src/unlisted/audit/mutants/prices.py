"""Mutants of what a right release is said to cost: the output is what it should be, the claim is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from unlisted.audit.laws.histograms import threshold_histogram_law, top_k_law
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.mutants.mutant import FAR, LAPLACE, ONE, Mutant, Uniform
from unlisted.audit.mutants.thresholds import histogram_run
from unlisted.audit.subject import OpenBits, Pair, Subject
from unlisted.audit.subjects.batches import threshold_histogram_batch, top_k_batch
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import Law
from unlisted.noise.on_counts import with_failure
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.rounding import exp_down
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.privacy.survey import analytic_gaussian_sigma, continuous_laplace_rho, gaussian_delta

RARE = Fraction(1, 10**9)
MANY = 1_000_000
"""Runs of mechanisms that are run many at a time."""


def continuous_constant(bits: OpenBits) -> Mutant:
    """Charge whole-number Laplace noise what continuous Laplace noise costs."""
    right = _above(LAPLACE, ONE)
    claim = Guarantee(Fraction(continuous_laplace_rho(1.0)), right.failure())
    return _mispriced(
        "continuous constant",
        "ρ = ε + e^-ε - 1 is the price of continuous Laplace noise; on whole numbers it costs ε·tanh(ε/2).",
        right,
        claim,
        bits,
    )


def analytic_gaussian(bits: OpenBits) -> Mutant:
    """Charge whole-number Gaussian noise by the exact curve of continuous Gaussian noise."""
    law, epsilon = DiscreteGaussian(Fraction(1, 2)), 2.5
    right = _above(law, ONE)
    delta = Fraction(gaussian_delta(1 / law.stddev, epsilon)) + right.failure()
    return _mispriced(
        "analytic Gaussian",
        "δ(ε) is that of continuous Gaussian noise; whole-number noise of the same σ has a larger one.",
        right,
        Guarantee(right.guarantee().rho, right.failure(), EpsilonDelta(Fraction(epsilon), delta)),
        bits,
    )


def classical_gaussian(bits: OpenBits) -> Mutant:
    """Use the textbook σ for an ε above 1, where it is no theorem."""
    epsilon, delta, count = 8, 0.1, 4
    variance = Fraction(2 * math.log(1.25 / delta) * (count / epsilon) ** 2)
    right = _above(DiscreteGaussian(variance), Sensitivity(1, count))
    direct = EpsilonDelta(Fraction(epsilon), Fraction(delta) + right.failure())
    return _mispriced(
        "classical Gaussian",
        "σ = Δ·sqrt(2·log(1.25/δ))/ε is proved for ε < 1 only, and is used at ε = 8.",
        right,
        Guarantee(right.guarantee().rho, right.failure(), direct),
        bits,
    )


def largest_change_ignored(bits: OpenBits) -> Mutant:
    """Price a count that one user may move by 3 as if it were 1."""
    law = DiscreteGaussian(Fraction(4))
    right = _above(law, Sensitivity(1, 3))
    return _mispriced(
        "Δ∞ ignored",
        "One user may add three rows to a count, and the price is that of one row.",
        right,
        Guarantee(law.rho(1), right.failure()),
        bits,
    )


def groups_paid_once(bits: OpenBits) -> Mutant:
    """Price a histogram by group as if every user were in one group, where a user may be in three."""
    law = DiscreteGaussian(Fraction(2))
    right = _above(law, Sensitivity(3))
    return _mispriced(
        "three groups paid once",
        "A user counts in three groups, with one item in each, and the price is that of one group.",
        right,
        Guarantee(law.rho(1), right.failure()),
        bits,
    )


def order_missing(bits: OpenBits) -> Mutant:
    """Read a line of the survey's first proof as it is printed, without the order λ."""
    right = _above(LAPLACE, ONE)
    return _mispriced(
        "misprint: λ missing (Laplace)",
        "The printed bound D_λ <= Δ0·Δ∞²/2b² has no λ, so at order ∞ it says ε = 1/2 of noise that has ε = 1.",
        right,
        replace(right.guarantee(), direct=EpsilonDelta(Fraction(1, 2), right.failure())),
        bits,
    )


def wrong_norm(bits: OpenBits) -> Mutant:
    """Read the survey's l2 sensitivity as it is printed."""
    law, sensitivity = DiscreteGaussian(Fraction(2)), Sensitivity(2)
    right = _above(law, sensitivity)
    return _mispriced(
        "misprint: Δ∞·√Δ∞",
        "The printed l2 sensitivity Δ∞·√Δ∞ forgets that a user moves Δ0 counts; it is Δ∞·√Δ0.",
        right,
        Guarantee(law.rho(1), right.failure()),
        bits,
    )


def delta_spent_twice(bits: OpenBits) -> Mutant:
    """Spend δ in the noise and again in the threshold, and record it once."""
    epsilon, delta = 1, 0.05
    law = DiscreteGaussian(Fraction(analytic_gaussian_sigma(epsilon, delta)) ** 2)
    right = ThresholdHistogram(law, law.quantile(Fraction(delta)), Sensitivity(2))
    claim = replace(right.guarantee(), direct=EpsilonDelta(Fraction(epsilon), Fraction(delta)))
    pair = Pair("one label appears, another moves", {"soup": FAR}, {"soup": FAR + 1, "x": 1})
    return _mispriced(
        "δ recorded once",
        "The noise spends δ and the threshold spends δ, and only one of them is charged.",
        right,
        claim,
        bits,
        pair,
    )


def replaced_at_the_price_of_added(bits: OpenBits) -> Mutant:
    """Charge a ranking ε²/8 where one user is exchanged for another (the survey says sensitivity for range)."""
    claimed = TopK.at(Ranking(1, 2, ONE), epsilon=1, delta="0.01")
    exchanged = replace(claimed.ranking, sensitivity=Sensitivity(1, 1, "replace"))
    right = TopK.at(exchanged, epsilon=1, delta="0.01")
    pair = Pair("one user exchanged", {"soup": FAR, "bread": FAR + 1}, {"soup": FAR + 1, "bread": FAR})
    return Mutant(
        "ε²/8 is for a score range of Δ∞; an exchanged user moves one label up and another down, a range of 2Δ∞.",
        _ranked("replace at add/remove price", claimed, claimed.guarantee(), bits, pair),
        _ranked("repaired", right, right.guarantee(), bits, pair),
        trials=MANY,
    )


def one_price_for_all_draws(bits: OpenBits) -> Mutant:
    """Charge a ranking of four labels what one draw costs."""
    right = TopK.at(Ranking(4, 4, Sensitivity(None)), epsilon=1, delta="0.001")
    labels = ("soup", "bread", "rice", "salt")
    common = int(right.threshold) - 1
    pair = Pair("a user who has every label", dict.fromkeys(labels, common), dict.fromkeys(labels, common + 1))
    return Mutant(
        "A ranking of four labels draws four times and is charged once.",
        _ranked("one price for all draws", right, with_failure(right.draw_price(), right.failure()), bits, pair),
        _ranked("repaired", right, right.guarantee(), bits, pair),
        trials=MANY,
    )


def order_missing_in_rankings(bits: OpenBits) -> Mutant:
    """Read a line of the survey's third proof as it is printed, without the order λ."""
    right = TopK.at(Ranking(1, 1, ONE), epsilon=1, delta="0.01")
    common = int(right.threshold)
    pair = Pair("one label gains", {"soup": common}, {"soup": common + 1})
    claim = replace(right.guarantee(), direct=EpsilonDelta(Fraction(1, 8), right.failure()))
    return Mutant(
        "The printed bound D_λ <= k·ε²/8 has no λ, so at order ∞ it says ε = 1/8 of a draw that has ε = 1.",
        _ranked("misprint: λ missing (Gumbel)", right, claim, bits, pair),
        _ranked("repaired", right, right.guarantee(), bits, pair),
        trials=MANY,
    )


def permute_and_flip(bits: OpenBits) -> Mutant:
    """Choose by permute-and-flip and charge ε²/8, which needs a bounded range."""
    uniform, epsilon = Uniform(bits), 1

    def flipped(histogram: Mapping[str, int]) -> str:
        best = max(histogram.values())
        waiting = sorted(histogram)
        while True:
            candidate = waiting.pop(int(uniform() * len(waiting)))
            if uniform() < math.exp(epsilon * (histogram[candidate] - best)):
                return candidate

    def exactly(histogram: Mapping[str, int]) -> OutputLaw:
        (one, count), (other, less) = sorted(histogram.items(), key=lambda row: -row[1])
        behind = exp_down(Fraction(epsilon * (less - count))) / 2
        return OutputLaw.exactly({one: 1 - behind, other: behind})

    pair = Pair("one label gains", {"soup": 5, "bread": 5}, {"soup": 6, "bread": 5})
    price = Guarantee(Fraction(epsilon**2, 8), Fraction(0))
    right = TopK.at(Ranking(1, 2, ONE), epsilon=epsilon, delta="0.01")
    return Mutant(
        "Permute-and-flip is ε-DP but has no bounded range, so it costs up to ε·tanh(ε/2) and not ε²/8.",
        Subject("permute-and-flip at ε²/8", price, lambda: [pair], flipped, exactly),
        _ranked("repaired", right, right.guarantee(), bits, pair),
        trials=20_000,
    )


def scores_released(bits: OpenBits) -> Mutant:
    """Release the winner's noisy score with it, at the price of the ranking."""
    uniform, price = Uniform(bits), Guarantee(Fraction(1, 8), Fraction(0))

    def winner(histogram: Mapping[str, int]) -> tuple[str, float]:
        score, label = max((count - math.log(-math.log(uniform())), label) for label, count in histogram.items())
        return label, round(score, 1)

    def only_who(histogram: Mapping[str, int]) -> str:
        return winner(histogram)[0]

    pair = Pair("one label gains", {"soup": 6, "bread": 0}, {"soup": 7, "bread": 0})
    return Mutant(
        "A ranking costs ε²/8 a draw only if nothing but the order is released; the winner's noisy score is, too.",
        Subject("scores released", price, lambda: [pair], lambda histogram: (winner(histogram),)),
        Subject("repaired", price, lambda: [pair], only_who),
    )


def _above(law: Law, sensitivity: Sensitivity) -> ThresholdHistogram:
    """Return a histogram whose threshold almost never fails, so that the price is all there is to it."""
    threshold = sensitivity.count + law.quantile(RARE / sensitivity.require_items("A histogram")) - 1
    return ThresholdHistogram(law, threshold, sensitivity)


def _mispriced(
    name: str, wrong: str, right: ThresholdHistogram, claim: Guarantee, bits: OpenBits, pair: Pair | None = None
) -> Mutant:
    """Return a right histogram with a wrong claim, on labels that one user moves as far as allowed."""
    sensitivity = right.sensitivity
    labels = [f"item{i}" for i in range(sensitivity.require_items("A histogram"))]
    high = right.threshold + FAR
    moved = Pair(
        "one user moves all counts", dict.fromkeys(labels, high), dict.fromkeys(labels, high + sensitivity.count)
    )

    def claiming(said: str, promise: Guarantee) -> Subject:
        return Subject(
            said,
            promise,
            lambda: [pair or moved],
            histogram_run(right.law, right.threshold, right.minimum_count, bits),
            lambda histogram: threshold_histogram_law(right, histogram),
            threshold_histogram_batch(right, bits),
        )

    return Mutant(wrong, claiming(name, claim), claiming("repaired", right.guarantee()), trials=MANY)


def _ranked(name: str, mechanism: TopK, claim: Guarantee, bits: OpenBits, pair: Pair) -> Subject:
    batch = top_k_batch(mechanism, bits)
    return Subject(
        name,
        claim,
        lambda: [pair],
        lambda histogram: next(iter(batch(histogram, 1))),
        lambda histogram: top_k_law(mechanism, histogram),
        batch,
    )
