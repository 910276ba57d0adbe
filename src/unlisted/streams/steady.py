"""Running counts that do not fall and do not flicker, computed from what was released. That costs nothing more.

A released path is the true one with noise of a known covariance, and it is cut off: an item that is not shown has
a noisy count at or below the threshold. The true path does not fall. Three steps make use of that, in this order.

*What was not shown* is given the value that it has on average, given the threshold and the smooth path so far; the
smooth path is then computed anew, a few times. Without this, an item near the threshold is seen only when its
noise is high, and looks larger than it is.

*Smoothing.* The true path is taken as a line with a random walk on it; the released one has the noise on top. What
is no line is turned into parts that are independent of each other, so that the best guess of the noise is a share
of each. How far the walk goes differs between items: several lengths are tried, and weighted by how likely they
make what was released.

*Not falling.* The path is put halfway between the highest value before and the lowest value after each round.

What comes out is for a reader. The interval around it is as wide as that of a release, though the smooth path is
closer to the truth: how close depends on how the true one grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.continual_histogram import ContinualHistogram
from unlisted.noise.estimate import normal_survival
from unlisted.streams.history import Numbers, Paths
from unlisted.streams.settings import Settings

Floats = NDArray[np.float64]

MOST_SMOOTHED = 512
"""How many releases are smoothed together at most: what has to be computed grows with the cube of it."""

_WALKS = (0.0, *(0.3 * 10.0**power for power in range(11)))
"""How far the walk goes in all, as the ratio of its variance to that of the noise."""

_STARTS = 8
"""Items that appeared in the same eighth of the releases are smoothed together, from its beginning on."""

_LEAD, _TIMES, _AT_ONCE = 2, 5, 512
_TWO_SIDED_95 = 1.959964


@dataclass(frozen=True, eq=False)
class Steady:
    """Smoothed running counts, a row for each release and a column for each item.

    `since` is true from the release on that showed an item first. `half_width` is that of the 95 % interval around
    the counts of a release. Where a stream counts anew in every window, `windows` has the window of each release,
    and counts do not fall within one.
    """

    since: NDArray[np.bool_]
    count: Numbers
    half_width: Numbers
    windows: Numbers


def steadied(paths: Paths, settings: Settings) -> Steady:
    """Return running counts that do not fall, for every item from the release on that showed it first."""
    require_few(len(paths.rounds))
    windows = np.array([settings.window_of(number) for number in paths.rounds.tolist()], dtype=np.int64)
    places = np.array([settings.in_window(number) for number in paths.rounds.tolist()], dtype=np.int64)
    since, count = np.zeros_like(paths.shown), np.zeros_like(paths.count)
    half_width = np.zeros(len(paths.rounds), dtype=np.int64)
    for window in np.unique(windows):
        rows = np.flatnonzero(windows == window)
        part = steadied_together(paths.within(rows, places[rows]), settings.mechanism)
        since[rows], count[rows], half_width[rows] = part.since, part.count, part.half_width
    return Steady(since, count, half_width, windows)


def steadied_together(paths: Paths, mechanism: ContinualHistogram) -> Steady:
    """Return the steady counts of releases that count on from one to the next."""
    rounds = paths.rounds
    thresholds = np.array([mechanism.threshold_after(int(number)) for number in rounds], dtype=np.float64)
    covariance = mechanism.covariance(rounds)
    smooth = np.zeros(paths.shown.shape)
    for start, items in _by_start(paths.shown):
        model = _Model.of(covariance[start:, start:], rounds[start:], thresholds[start:])
        for first in range(0, len(items), _AT_ONCE):
            part = np.ix_(np.arange(start, len(rounds)), items[first : first + _AT_ONCE])
            smooth[part] = _not_falling(model.smoothed(paths.count[part], paths.shown[part]))
    since = np.logical_or.accumulate(paths.shown, axis=0)
    count = np.where(since, np.maximum(np.rint(smooth), 1), 0).astype(np.int64)
    half = np.ceil(_TWO_SIDED_95 * np.sqrt(np.diag(covariance))).astype(np.int64)
    return Steady(since, count, half, np.zeros_like(rounds))


def require_few(releases: int) -> None:
    """Refuse to smooth more releases together than can be."""
    if releases > MOST_SMOOTHED:
        hint = "Take fewer of them: every, start, end (--every, --from, --to)."
        raise InvalidArgumentError("steady", f"of {releases:,} releases", f"of at most {MOST_SMOOTHED:,}", hint)


@dataclass(frozen=True, eq=False)
class _Model:
    """How paths and their noise are expected to go at some releases.

    `parts` makes independent parts of a path of which no line has any: of the noise each has variance 1, of a walk
    `spread` times that of the walk. `noise` makes noise of parts.
    """

    thresholds: Floats
    deviations: Floats
    parts: Floats
    spread: Floats
    noise: Floats

    @classmethod
    def of(cls, covariance: Floats, rounds: Numbers, thresholds: Floats) -> _Model:
        """Prepare what all items share."""
        scale = float(np.mean(np.diag(covariance)))
        at = (rounds - rounds[0]) / max(1, int(rounds[-1] - rounds[0]))
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        lines = whitening @ np.stack([np.ones_like(at), at], axis=1)
        other = np.linalg.qr(lines, mode="complete")[0][:, lines.shape[1] :].T @ whitening
        spread, turn = np.linalg.eigh(other @ (scale * np.minimum.outer(at, at)) @ other.T)
        parts = turn.T @ other
        deviations = np.sqrt(np.diag(covariance))[:, None]
        return cls(thresholds[:, None], deviations, parts, np.maximum(spread, 0), covariance @ parts.T)

    def smoothed(self, count: Numbers, shown: NDArray[np.bool_]) -> Floats:
        """Return the smooth paths of items, given what was shown of them."""
        released = count.astype(np.float64)
        smooth = self._smoothed(np.where(shown, released, self.thresholds - self.deviations))
        for _ in range(0 if shown.all() else _TIMES):
            below = (self.thresholds - smooth) / self.deviations
            expected = np.minimum(smooth - self.deviations * _mills(below), self.thresholds)
            smooth = self._smoothed(np.where(shown, released, expected))
        return smooth

    def _smoothed(self, path: Floats) -> Floats:
        """Take the best guess of the noise out of paths, over all lengths of the walk by their likelihood."""
        parts = self.parts @ path
        variances = 1 + np.outer(_WALKS, self.spread)
        logs = -(np.log(variances).sum(axis=1)[:, None] + (1 / variances) @ np.square(parts)) / 2
        likely = np.exp(logs - logs.max(axis=0))
        shares = (1 / variances).T @ (likely / likely.sum(axis=0))
        smooth: Floats = path - self.noise @ (shares * parts)
        return smooth


def _by_start(shown: NDArray[np.bool_]) -> Iterator[tuple[int, Numbers]]:
    """Yield where smoothing begins, and the items for which it begins there: a little before they appear."""
    if not shown.any():
        return
    width = -(-len(shown) // _STARTS)
    starts = np.maximum(0, shown.argmax(axis=0) - _LEAD) // width * width
    there = shown.any(axis=0)
    for start in np.unique(starts[there]):
        yield int(start), np.flatnonzero(there & (starts == start))


def _not_falling(smooth: Floats) -> Floats:
    """Return paths that do not fall: halfway between the highest value before and the lowest after."""
    before = np.maximum.accumulate(smooth, axis=0)
    after = np.minimum.accumulate(smooth[::-1], axis=0)[::-1]
    return (before + after) / 2


def _mills(x: Floats) -> Floats:
    """Return by how many deviations a normal number is below its mean on average, given that it is below x."""
    within = np.clip(x, -8, 8)
    ratio: Floats = np.exp(-np.square(within) / 2) / np.sqrt(2 * np.pi) / normal_survival(-within)
    # Far below, what is left of the law lies close to x.
    return np.where(x < within, -x, ratio)
