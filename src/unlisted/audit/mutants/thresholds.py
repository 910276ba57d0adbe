"""Mutants of thresholds: what one user alone can make appear comes out too often, in Algorithms 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from unlisted.audit.laws.histograms import by_count, rows_over, threshold_histogram_law
from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.mutants.mutant import LAPLACE, ONE, Mutant, Noise, Rows, released, rows_by_count
from unlisted.audit.subject import OpenBits, Pair, Run, Subject
from unlisted.audit.subjects.batches import top_histogram_batch
from unlisted.audit.subjects.histograms import truncated_subject
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import Law
from unlisted.noise.on_counts import with_failure
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Histogram = Mapping[str, int]


def appearing(labels: int, before: int = 0) -> Pair:
    """Return neighbours of which one has some labels that the other has not, or has less often."""
    fresh = [f"x{i}" for i in range(labels)]
    left = dict.fromkeys(fresh, before) if before else {}
    return Pair(f"{labels} of one user's labels", left, dict.fromkeys(fresh, before + 1))


def at_least_for_above(bits: OpenBits) -> Mutant:
    """Release at the threshold itself, where the failure probability is of what lies above it."""
    return _at_least("≥ for >", ThresholdHistogram(LAPLACE, 4, ONE), bits)


def at_least_for_above_rarely(bits: OpenBits) -> Mutant:
    """Do the same at a δ of everyday size, where no number of runs would show it."""
    return _at_least("≥ for > at δ = 1e-8", ThresholdHistogram(LAPLACE, 19, ONE), bits)


def _at_least(name: str, right: ThresholdHistogram, bits: OpenBits) -> Mutant:
    noise = Noise(right.law, bits)

    def run(histogram: Histogram) -> Rows:
        noisy = {label: count + noise() for label, count in histogram.items()}
        return rows_by_count((label, value) for label, value in noisy.items() if value >= right.threshold)

    return Mutant(
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


def laplace_threshold_under_gaussian(bits: OpenBits) -> Mutant:
    """Take the threshold of one noise for another."""
    laplace, gaussian = LAPLACE, DiscreteGaussian(Fraction(4))
    delta = laplace.tail(4)
    wrong = ThresholdHistogram(gaussian, 4, ONE)
    right = ThresholdHistogram(gaussian, gaussian.quantile(delta), ONE)
    return Mutant(
        "The noise is Gaussian, the threshold that of Laplace noise.",
        _claiming(
            "Laplace threshold, Gaussian noise", wrong, Guarantee(gaussian.rho(1), delta), bits, appearing(1)
        ),
        _plain(right, bits, appearing(1)),
        trials=50_000,
    )


def whole_delta_for_each_label(bits: OpenBits) -> Mutant:
    """Forget that a user may bring several labels."""
    three = ThresholdHistogram(LAPLACE, 3, Sensitivity(3))
    one = ThresholdHistogram(LAPLACE, 3, ONE)
    claim = with_failure(three.price(), one.failure())
    return Mutant(
        "A user may bring three labels, and each of them has the whole δ.",
        _claiming("δ for each label", three, claim, bits, appearing(3)),
        _plain(three, bits, appearing(3)),
        trials=20_000,
    )


def cut_off_ignored(bits: OpenBits) -> Mutant:
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
    return Mutant(
        "Counts below 3 were cut off before, so a label may appear with count 3; the threshold allows for 1.",
        Subject("cut-off ignored", ignoring.guarantee(), lambda: [pair], run, exactly),
        _plain(knowing, bits, pair),
        trials=50_000,
    )


def truncated_one_later(bits: OpenBits) -> Mutant:
    """Let noise reach one value further than the threshold knows."""
    right = TruncatedHistogram(Fraction(1), Fraction("0.02"), ONE)
    # The draw of the repaired one chooses between two such pairs; here only its usual side is off by one.
    threshold, wide = right.threshold - 1, Noise(right.wide, bits)

    def run(histogram: Histogram) -> Rows:
        return released(histogram, wide, threshold)

    pair = appearing(1)
    return Mutant(
        "Noise is cut off at ±k, and a label is shown from k on, which noise alone can reach.",
        Subject(
            "truncated one later",
            right.guarantee(),
            lambda: [pair],
            run,
            lambda histogram: rows_over(histogram, threshold, noise_law(right.wide)),
        ),
        truncated_subject("repaired", right, lambda: [pair], bits),
        trials=50_000,
    )


def zeros_listed(bits: OpenBits) -> Mutant:
    """List the labels of a user whose items were dropped by bounding."""
    right = ThresholdHistogram(LAPLACE, 4, ONE)
    noise = Noise(right.law, bits)

    def run(histogram: Histogram) -> Rows:
        noisy = {label: count + noise() for label, count in histogram.items()}
        return rows_by_count((label, value) for label, value in noisy.items() if value > right.threshold)

    pair = Pair("one item kept, twelve listed with 0", {}, {"x": 1, **{f"zero{i}": 0 for i in range(12)}})
    return Mutant(
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


Scan = Callable[[Histogram], list[tuple[str, int]]]


def ties_by_row_order(bits: OpenBits) -> Mutant:
    """Take equal counts in the order in which the engine happens to hold them."""
    mechanism = _mechanism(fetched=16)
    labels = [f"item{i:02}" for i in range(2 * mechanism.fetched)]
    tied = dict.fromkeys(labels, 3)
    # A full hash table grows when one more label comes, and then holds its rows in another order.
    pair = Pair("one more label", tied, {**tied, "one more": 1})

    def as_held(histogram: Histogram) -> list[tuple[str, int]]:
        rows = list(histogram.items())
        return rows[::-1] if len(rows) > len(labels) else rows

    return Mutant(
        "Ties at the cut are broken by row order, so one user can exchange all the labels that are looked at.",
        Subject("ties by row order", mechanism.guarantee(), lambda: [pair], _run(mechanism, as_held, bits)),
        _repaired(mechanism, pair, bits),
        trials=30_000,
    )


def bottom_without_noise(bits: OpenBits) -> Mutant:
    """Set the threshold over the true (k̄+1)-th count."""
    mechanism = _mechanism(fetched=2)
    noise = Noise(mechanism.law, bits)
    high = {"soup": 9, "bread": 9}
    pair = Pair("the (k̄+1)-th count moves", {**high, "salt": 3}, {**high, "salt": 4})

    def run(histogram: Histogram) -> tuple[int, Rows]:
        top, over = _cut(sorted(histogram.items(), key=by_count), mechanism)
        return over, _shown(top, over, noise)

    return Mutant(
        "The threshold stands over the true (k̄+1)-th count, which has no noise of its own.",
        Subject("⊥ without noise", mechanism.guarantee(), lambda: [pair], run),
        _repaired(mechanism, pair, bits),
    )


def _mechanism(fetched: int) -> TopHistogram:
    return TopHistogram(LAPLACE, 6, fetched, ONE)


def _run(mechanism: TopHistogram, scan: Scan, bits: OpenBits) -> Run:
    """Return Algorithm 2 on rows that `scan` puts in order within a count."""
    noise = Noise(mechanism.law, bits)

    def run(histogram: Histogram) -> tuple[int, Rows]:
        top, over = _cut(sorted(scan(histogram), key=lambda row: -row[1]), mechanism)
        over += noise()
        return over, _shown(top, over, noise)

    return run


def _cut(ranked: list[tuple[str, int]], mechanism: TopHistogram) -> tuple[list[tuple[str, int]], int]:
    fetched = mechanism.fetched
    bottom = ranked[fetched][1] if len(ranked) > fetched else 0
    return ranked[:fetched], mechanism.threshold + bottom


def _shown(top: list[tuple[str, int]], over: int, noise: Noise) -> Rows:
    noisy = [(label, count + noise()) for label, count in top]
    return rows_by_count((label, value) for label, value in noisy if value > over)


def _repaired(mechanism: TopHistogram, pair: Pair, bits: OpenBits) -> Subject:
    run = _run(mechanism, lambda histogram: sorted(histogram.items()), bits)
    return Subject(
        "repaired", mechanism.guarantee(), lambda: [pair], run, batch=top_histogram_batch(mechanism, bits)
    )
