"""A lower bound on what a mechanism gives away, from running it and from nothing else.

Run it many times on two neighbours, find an event that comes often on the one side and seldom on the other, and
count it in *new* runs. If its chances are at least p and at most q, then no (ε, δ) statement with
p > e^ε·q + δ is true, and no (ρ, δ) statement with a smaller ρ than `Evidence.rho`; black_box.md has the proofs.

A quarter of the runs chooses the pair, a quarter the event, and half of them count it. Two events are counted, the
one that seems to show the largest ε and the one for ρ, each with two bounds. So the risk 1 - confidence is split
into four equal parts (Bonferroni), and everything stated holds at once with the stated confidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.audit.confidence import chance_high, chance_low
from unlisted.audit.events import Event, Promising, Score, Table, Tally, best_event, by_view, plain
from unlisted.audit.subject import Data, Pair, Subject
from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import Number, exact, whole
from unlisted.privacy.rounding import exp_down, exp_up, log_down, log_up

CONFIDENCE = Fraction("0.999999")
LEAST_TRIALS = 64
ORDERS = tuple(Fraction(order) for order in ("1.001", "1.05", "1.2", "1.5", "2", "3", "4", "6", "10", "20", "50"))
"""The Rényi orders at which an event is held against ρ. A finer grid could only find more."""

_PILOT_DEVIATIONS = 2.0
_NO_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Evidence:
    """An event, and how often it came on two neighbours in runs that had no part in choosing it.

    With the confidence of the audit its chance on the one side is at least `low`, on the other at most `high`.
    """

    pair: str
    event: Event
    runs: int
    times: tuple[int, int]
    low: Fraction
    high: Fraction

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return an ε that no (ε, δ) statement at this δ may fall below."""
        if self.low - delta <= self.high:
            return Fraction(0)
        return log_down((self.low - delta) / self.high)

    def rho(self, delta: Fraction) -> Fraction:
        """Return a ρ that no δ-approximate ρ-zCDP statement at this δ may fall below."""
        kept, rest, other = self.low - delta, 1 - self.low, 1 - self.high
        if kept * other <= rest * self.high:
            return Fraction(0)
        return max(_renyi_down((kept, self.high), (rest, other), order) / order for order in ORDERS)

    def contradicts(self, claim: Guarantee) -> bool:
        """Return whether a claim cannot be true if these bounds are."""
        direct = claim.direct
        if direct is not None and self.low > exp_up(direct.epsilon) * self.high + direct.delta:
            return True
        return self.rho(claim.delta) > claim.rho

    def __str__(self) -> str:
        one, other = self.times
        return f"{self.event}: {one:,} against {other:,} times in {self.runs:,} runs ({self.pair})"


@dataclass(frozen=True)
class BlackBox:
    """What running a mechanism showed. All bounds hold at once with probability `confidence`."""

    claim: Guarantee
    at_delta: Fraction
    confidence: Fraction
    evidence: tuple[Evidence, Evidence]

    @property
    def epsilon(self) -> Fraction:
        """The mechanism is not (ε, δ)-private for any smaller ε, at `at_delta`."""
        return max(one.epsilon(self.at_delta) for one in self.evidence)

    @property
    def rho(self) -> Fraction:
        """The mechanism is not δ-approximate ρ-zCDP for any smaller ρ, at the claimed δ."""
        return max(one.rho(self.claim.delta) for one in self.evidence)

    @property
    def against(self) -> Evidence | None:
        """The evidence that the claim is false, if there is any."""
        return next((one for one in self.evidence if one.contradicts(self.claim)), None)


Progress = Callable[[int], None]
"""Told how many runs were just made."""


def black_box(
    subject: Subject,
    *,
    trials: int = 100_000,
    at_delta: Number | None = None,
    confidence: Number = CONFIDENCE,
    progress: Progress | None = None,
) -> BlackBox:
    """Try to break a claim by running the mechanism about `trials` times on either neighbour.

    Where the two events are found on different pairs, each of these is run so often. `at_delta` is where ε is
    reported; without it, the δ of the claim's own (ε, δ) statement, or twice its δ.
    """
    if whole("trials", trials) < LEAST_TRIALS:
        raise InvalidArgumentError("trials", trials, f"{LEAST_TRIALS} or above")
    level = exact("confidence", confidence)
    if not Fraction(1, 2) < level < 1:
        raise InvalidArgumentError("confidence", confidence, "above 1/2 and below 1")
    delta = _delta_of(subject.claim) if at_delta is None else exact("at_delta", at_delta)
    attack = _Attack(subject, trials, (1 - level) / 4, progress or (lambda _: None))
    evidence = (attack.on(_Aim(delta, _epsilon_score)), attack.on(_Aim(subject.claim.delta, _rho_score)))
    return BlackBox(subject.claim, delta, level, evidence)


def _delta_of(claim: Guarantee) -> Fraction:
    if claim.direct is not None:
        return claim.direct.delta
    return min(2 * claim.delta, (1 + claim.delta) / 2) or _NO_DELTA


@dataclass(frozen=True)
class _Aim:
    """What an event is looked for: a large ε, or a large ρ, at a δ."""

    delta: Fraction
    score: Callable[[NDArray[np.float64], NDArray[np.float64], float], NDArray[np.float64]]

    def scoring(self, runs: int, deviations: float) -> Score:
        """Return what a first guess says of events: the bounds that so many runs would give, roughly."""

        def score(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
            low, _ = _roughly(one, runs, deviations)
            _, high = _roughly(other, runs, deviations)
            return self.score(low, high, float(self.delta))

        return score


Sides = tuple[Tally, Tally]
"""How often each output came up on either neighbour."""


class _Choosing(NamedTuple):
    """Two samples of one pair, by view: one to order values by, one to choose an event by."""

    ranking: dict[str, Table]
    scoring: dict[str, Table]

    def best(self, score: Score) -> tuple[Promising, int]:
        """Choose an event that is likelier on the left (0) or one that is likelier on the right (1)."""
        found = [(best_event(self.ranking, self.scoring, side, score), side) for side in (0, 1)]
        return max(found, key=lambda one: one[0].score)


class _Attack:
    """The runs against one subject. Both aims use the same ones if they choose the same pair."""

    def __init__(self, subject: Subject, trials: int, alpha: Fraction, progress: Progress) -> None:
        self._subject = subject
        self._alpha = alpha
        self._progress = progress
        self._pairs = list(subject.pairs())
        if not self._pairs:
            raise InvalidArgumentError("pairs", "none", "at least one pair of neighbours")
        self._eighth = trials // 8
        self._share = max(self._eighth // len(self._pairs), 20)
        self._pilots = [self._choosing(pair, self._share) for pair in self._pairs]
        self._made: dict[int, tuple[_Choosing, Sides]] = {}

    def on(self, aim: _Aim) -> Evidence:
        """Choose a pair, then an event, then count it in new runs."""
        pilot = aim.scoring(self._share, _PILOT_DEVIATIONS)
        promises = [one.best(pilot)[0].score for one in self._pilots]
        place = promises.index(max(promises))
        choosing, counting = self._runs(place)
        deviations = NormalDist().inv_cdf(1 - float(self._alpha))
        chosen, side = choosing.best(aim.scoring(self._eighth, deviations))
        runs = 4 * self._eighth
        one, other = (chosen.event.times(counting[place]) for place in (side, 1 - side))
        low, high = chance_low(one, runs, self._alpha), chance_high(other, runs, self._alpha)
        name = f"{self._pairs[place].name}{', the other way' if side else ''}"
        return Evidence(name, chosen.event, runs, (one, other), low, high)

    def _runs(self, place: int) -> tuple[_Choosing, Sides]:
        if place not in self._made:
            pair = self._pairs[place]
            self._made[place] = self._choosing(pair, self._eighth), self._both(pair, 4 * self._eighth)
        return self._made[place]

    def _choosing(self, pair: Pair, runs: int) -> _Choosing:
        return _Choosing(by_view(*self._both(pair, runs)), by_view(*self._both(pair, runs)))

    def _both(self, pair: Pair, runs: int) -> Sides:
        return self._run(pair.left, runs), self._run(pair.right, runs)

    def _run(self, data: Data, runs: int) -> Counter[Hashable]:
        subject = self._subject
        if subject.batch is not None:
            tally = subject.batch(data, runs)
        else:
            tally = Counter(plain(subject.run(data)) for _ in range(runs))
        self._progress(runs)
        return tally


def _renyi_down(likely: tuple[Fraction, Fraction], rest: tuple[Fraction, Fraction], order: Fraction) -> Fraction:
    """Bound from below log(Σ p^λ q^(1-λ))/(λ-1) over two outcomes, each given by its p and its q."""
    moment = sum(exp_down(order * log_down(p) - (order - 1) * log_up(q)) for p, q in (likely, rest))
    return max(Fraction(0), log_down(Fraction(moment)) / (order - 1))


def _roughly(
    times: NDArray[np.int64], runs: int, deviations: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about the bounds of many chances (Wilson's). Only choices are made by these."""
    spread = deviations**2 / runs
    share = times / runs
    centre = (share + spread / 2) / (1 + spread)
    width = np.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return np.maximum(centre - width, 0.0), np.minimum(centre + width, 1.0)


def _epsilon_score(low: NDArray[np.float64], high: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    shown = np.maximum(low - delta, 1e-300) / high
    # Where nothing is shown, whatever comes nearest to showing something is the better guess.
    return np.where(shown > 1, np.log(shown), low - delta - high)


def _rho_score(low: NDArray[np.float64], high: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    kept, rest, other = np.maximum(low - delta, 1e-300), 1 - low, np.maximum(1 - high, 1e-300)
    telling = kept * other > rest * high
    best = np.full(len(low), -math.inf)
    for order in map(float, ORDERS):
        likely = order * np.log(kept) - (order - 1) * np.log(high)
        unlikely = order * np.log(np.maximum(rest, 1e-300)) - (order - 1) * np.log(other)
        best = np.maximum(best, np.logaddexp(likely, unlikely) / (order * (order - 1)))
    return np.where(telling, best, low - delta - high)
