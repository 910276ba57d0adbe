"""Mutants of charging several questions: what is free, what comes back, and what is charged only once.

Every question here is a right one, a ranking of one label. What is wrong is how many of them a budget allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from unlisted.audit.laws.histograms import top_k_law
from unlisted.audit.laws.output_law import ALL, DOWN, OutputLaw, independent
from unlisted.audit.mutants.mutant import ONE, Mutant, Uniform
from unlisted.audit.subject import BOTTOM, OpenBits, Output, Pair, Subject
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.privacy.guarantee import Guarantee

Histogram = Mapping[str, int]


def free_bottom(bits: OpenBits) -> Mutant:
    """Charge labels and not ⊥, so that one may ask until a label comes."""
    question, most = _question(epsilon=1, delta="0.0001"), 30
    common = int(question.threshold) - 3
    pair = Pair("one label gains", {"soup": common}, {"soup": common + 1})
    draw, failures = question.draw_price().rho, most * question.failure()
    return Mutant(
        "Labels are charged and ⊥ is free, so one may ask until a label comes and see how long it took.",
        _until_a_label("free ⊥", question, Guarantee(draw, failures), pair, bits),
        _until_a_label("repaired", question, Guarantee(most * draw, failures), pair, bits),
    )


def refunded_delta(bits: OpenBits) -> Mutant:
    """Give δ back when ⊥ ended the answer, because nothing was shown."""
    question, most = _question(epsilon=Fraction(1, 4), delta="0.01"), 30
    pair = Pair("a label of one user", {}, {"soup": 1})
    draws, failure = most * question.draw_price().rho, question.failure()
    return Mutant(
        "δ comes back when an answer shows nothing, so one may try until the failure event happens.",
        _until_a_label("δ refunded", question, Guarantee(draws, failure), pair, bits),
        _until_a_label("repaired", question, Guarantee(draws, most * failure), pair, bits),
    )


def delta_charged_once(bits: OpenBits) -> Mutant:
    """Read the last line of the survey's pay-what-you-get proof as it is printed: δ for all questions together."""
    question, asked = _question(epsilon=Fraction(1, 4), delta="0.04"), 8
    pair = Pair("a label of one user", {}, {"soup": 1})
    uniform, draws, failure = Uniform(bits), asked * question.draw_price().rho, question.failure()

    def run(histogram: Histogram) -> Output:
        chance = _chance(question, histogram)
        return tuple(("soup",) if uniform() < chance else (BOTTOM,) for _ in range(asked))

    def exactly(histogram: Histogram) -> OutputLaw:
        return independent([top_k_law(question, histogram)] * asked, tuple)

    def claiming(name: str, delta: Fraction) -> Subject:
        return Subject(name, Guarantee(draws, delta), lambda: [pair], run, exactly)

    return Mutant(
        "The printed total has δ where it should have δ for each question.",
        claiming("misprint: δ for ℓ*·δ", failure),
        claiming("repaired", asked * failure),
    )


def _question(epsilon: Fraction | int, delta: str) -> TopK:
    return TopK.at(Ranking(1, 1, ONE), epsilon=epsilon, delta=delta)


def _until_a_label(name: str, question: TopK, claim: Guarantee, pair: Pair, bits: OpenBits) -> Subject:
    """Return a budget that allows the question thirty times, or until a label comes."""
    uniform, most = Uniform(bits), 30

    def run(histogram: Histogram) -> Output:
        chance = _chance(question, histogram)
        return next((waited for waited in range(most) if uniform() < chance), "never")

    def exactly(histogram: Histogram) -> OutputLaw:
        ended = top_k_law(question, histogram).at_least[(BOTTOM,)]
        shown = DOWN.subtract(ALL, ended)
        waits: dict[Output, Decimal] = {n: DOWN.multiply(shown, DOWN.power(ended, n)) for n in range(most)}
        return OutputLaw({**waits, "never": DOWN.power(ended, most)})

    return Subject(name, claim, lambda: [pair], run, exactly)


def _chance(question: TopK, histogram: Histogram) -> float:
    """Return the chance that the label comes and not ⊥."""
    lead = float(question.epsilon) * (histogram.get("soup", 0) - float(question.threshold))
    return 1 / (1 + math.exp(-lead)) if histogram else 0.0
