"""Mistakes in Algorithm 1's threshold: labels that one user alone can make appear come out too often."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from unlisted.audit.broken.mistake import LAPLACE, ONE, Mistake, Noise, OpenBits, Rows, released, rows_by_count
from unlisted.audit.histogram_laws import rows_over, threshold_histogram_law
from unlisted.audit.noise_masses import noise_law
from unlisted.audit.output_law import OutputLaw
from unlisted.audit.subject import Pair, Run, Subject
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import Law
from unlisted.noise.on_counts import with_escape
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Histogram = Mapping[str, int]


def appearing(labels: int, before: int = 0) -> Pair:
    """Return neighbours of which one has some labels that the other has not, or has less often."""
    fresh = [f"x{i}" for i in range(labels)]
    left = dict.fromkeys(fresh, before) if before else {}
    return Pair(f"{labels} of one user's labels", left, dict.fromkeys(fresh, before + 1))


def at_least_for_above(bits: OpenBits) -> Mistake:
    """Release at the threshold itself, where the failure probability is of what lies above it."""
    return _at_least("≥ for >", ThresholdHistogram(LAPLACE, 4, ONE), bits)


def at_least_for_above_rarely(bits: OpenBits) -> Mistake:
    """Do the same at a δ of everyday size, where no number of runs would show it."""
    return _at_least("≥ for > at δ = 1e-8", ThresholdHistogram(LAPLACE, 19, ONE), bits)


def _at_least(name: str, right: ThresholdHistogram, bits: OpenBits) -> Mistake:
    noise = Noise(right.law, bits)

    def run(histogram: Histogram) -> Rows:
        noisy = {label: count + noise() for label, count in histogram.items()}
        return rows_by_count((label, value) for label, value in noisy.items() if value >= right.threshold)

    return Mistake(
        "A label is released at the threshold, but the tail is computed for strictly above it.",
        Subject(
            name,
            right.guarantee(),
            lambda: [appearing(1)],
            run,
            lambda histogram: rows_over(histogram, right.threshold - 1, noise_law(right.law)),
        ),
        _plain(right, bits, appearing(1)),
        trials=50_000,
    )


def laplace_threshold_under_gaussian(bits: OpenBits) -> Mistake:
    """Take the threshold of one noise for another."""
    laplace, gaussian = LAPLACE, DiscreteGaussian(Fraction(4))
    delta = laplace.tail(4)
    wrong = ThresholdHistogram(gaussian, 4, ONE)
    right = ThresholdHistogram(gaussian, gaussian.quantile(delta), ONE)
    return Mistake(
        "The noise is Gaussian, the threshold that of Laplace noise.",
        _claiming(
            "Laplace threshold, Gaussian noise", wrong, Guarantee(gaussian.rho(1), delta), bits, appearing(1)
        ),
        _plain(right, bits, appearing(1)),
        trials=50_000,
    )


def whole_delta_for_each_label(bits: OpenBits) -> Mistake:
    """Forget that a user may bring several labels."""
    three = ThresholdHistogram(LAPLACE, 3, Sensitivity(3))
    one = ThresholdHistogram(LAPLACE, 3, ONE)
    claim = with_escape(three.price(), one.escape())
    return Mistake(
        "A user may bring three labels, and each of them has the whole δ.",
        _claiming("δ for each label", three, claim, bits, appearing(3)),
        _plain(three, bits, appearing(3)),
        trials=20_000,
    )


def cut_off_ignored(bits: OpenBits) -> Mistake:
    """Read counts that a `HAVING` cut off below 3, with the threshold for all counts."""
    law, cut_off = LAPLACE, 3
    ignoring = ThresholdHistogram(law, 5, ONE)
    knowing = ThresholdHistogram(law, 5 + cut_off - 1, ONE, cut_off)
    noise = Noise(law, bits)

    def run(histogram: Histogram) -> Rows:
        listed = {label: count for label, count in histogram.items() if count >= cut_off}
        return released(listed, noise, ignoring.threshold)

    def exactly(histogram: Histogram) -> OutputLaw:
        listed = {label: count for label, count in histogram.items() if count >= cut_off}
        return threshold_histogram_law(ignoring, listed)

    pair = appearing(1, before=cut_off - 1)
    return Mistake(
        "Counts below 3 were cut off before, so a label may appear with count 3; the threshold allows for 1.",
        Subject("cut-off ignored", ignoring.guarantee(), lambda: [pair], run, exactly),
        _plain(knowing, bits, pair),
        trials=50_000,
    )


def zeros_listed(bits: OpenBits) -> Mistake:
    """List the labels of a user whose items were dropped by bounding."""
    right = ThresholdHistogram(LAPLACE, 4, ONE)
    noise = Noise(right.law, bits)

    def run(histogram: Histogram) -> Rows:
        noisy = {label: count + noise() for label, count in histogram.items()}
        return rows_by_count((label, value) for label, value in noisy.items() if value > right.threshold)

    pair = Pair("one item kept, twelve listed with 0", {}, {"x": 1, **{f"zero{i}": 0 for i in range(12)}})
    return Mistake(
        "Labels with count 0 get noise too, and one user may list any number of them.",
        Subject("zeros listed", right.guarantee(), lambda: [pair], run),
        _plain(right, bits, pair),
    )


def _plain(mechanism: ThresholdHistogram, bits: OpenBits, pair: Pair) -> Subject:
    return _claiming("repaired", mechanism, mechanism.guarantee(), bits, pair)


def _claiming(name: str, mechanism: ThresholdHistogram, claim: Guarantee, bits: OpenBits, pair: Pair) -> Subject:
    """Return Algorithm 1 as it is, with a claim of its own."""
    run = histogram_run(mechanism.law, mechanism.threshold, mechanism.minimum_count, bits)
    return Subject(
        name, claim, lambda: [pair], run, lambda histogram: threshold_histogram_law(mechanism, histogram)
    )


def histogram_run(law: Law, threshold: int, minimum_count: int, bits: OpenBits) -> Run:
    """Return a quick plain way to run Algorithm 1."""
    noise = Noise(law, bits)

    def run(histogram: Histogram) -> Rows:
        listed = {label: count for label, count in histogram.items() if count >= minimum_count}
        return released(listed, noise, threshold)

    return run
