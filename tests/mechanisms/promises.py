"""Is a guarantee true of two exact laws? One question, for mechanisms that must keep it and that must break it.

Two tests, each a consequence of the guarantee. The hockey-stick test: P(S) <= e^ε Q(S) + δ(ε) for the worst set S,
at several ε, with δ(ε) from the (ρ, δ) statement by conversion and from the (ε, δ) statement where there is one.
The good-part test (Lemma G): parts of both laws of mass 1 - δ at least, on the same outcomes, with
Σ P₀^λ Q₀^(1-λ) <= e^(λ(λ-1)ρ) in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unlisted.privacy.convert import delta_cks_up
from unlisted.privacy.guarantee import Guarantee

Probabilities = NDArray[np.float64]
Parts = tuple[Probabilities, Probabilities]

EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 30.0)
ORDERS = (1.05, 1.5, 2.0, 3.0, 5.0)
NUMERICAL = 1e-9
"""Far above what floats lose here, far below every breach that a wrong constant makes."""


def hockey_stick(p: Probabilities, q: Probabilities, epsilon: float) -> float:
    """The exact δ(ε) of one direction."""
    return float(np.maximum(0.0, p - np.exp(epsilon) * q).sum())


def renyi(p: Probabilities, q: Probabilities, order: float) -> float:
    """D_λ(P‖Q) of two laws, where Q is positive wherever P is."""
    return log_moment(p, q, order) / (order - 1)


def log_moment(p: Probabilities, q: Probabilities, order: float) -> float:
    """log Σ P^λ Q^(1-λ) over the outcomes that both have."""
    both = (p > 0) & (q > 0)
    terms = order * np.log(p[both]) + (1 - order) * np.log(q[both])
    top = terms.max()
    return float(top + np.log(np.exp(terms - top).sum()))


def as_array(law: Mapping[tuple[str, ...], object], outcomes: Sequence[tuple[str, ...]]) -> Probabilities:
    """A law given as a dictionary, over these outcomes in order."""
    return np.array([float(law.get(outcome, 0)) for outcome in outcomes])


@lru_cache(maxsize=4096)
def promised_delta(promised: Guarantee, epsilon: float) -> float:
    """What the (ρ, δ) statement allows at this ε."""
    return float(promised.delta + delta_cks_up(promised.rho, epsilon))


def breach(p: Probabilities, q: Probabilities, parts: Parts, promised: Guarantee) -> str | None:
    """Say how two neighbours' laws break a guarantee; None if they keep it. The order of the two matters.

    `parts` are the parts of both laws that the proof calls good.
    """
    missing = max(0.0, 1 - p.sum()) + max(0.0, 1 - q.sum())
    for epsilon in EPSILONS:
        spare = missing * np.exp(min(epsilon, 4.0)) + NUMERICAL
        found, allowed = hockey_stick(p, q, epsilon), promised_delta(promised, epsilon)
        if found > allowed + spare:
            return f"δ({epsilon}) = {found:.6g} against {allowed:.6g} from (ρ, δ)"
    if promised.direct is not None:
        epsilon = float(promised.direct.epsilon)
        found, allowed = hockey_stick(p, q, epsilon), float(promised.direct.delta)
        if found > allowed + missing * np.exp(epsilon) + NUMERICAL:
            return f"δ({epsilon:.6g}) = {found:.6g} against {allowed:.6g} from (ε, δ)"
    return bad_parts(*parts, promised, missing)


def bad_parts(p: Probabilities, q: Probabilities, promised: Guarantee, missing: float = 0.0) -> str | None:
    """Say why these parts of two laws are not good for a (ρ, δ); None if they are."""
    least = 1 - float(promised.delta) - missing - NUMERICAL
    if min(p.sum(), q.sum()) < least:
        return f"a good part of mass {min(p.sum(), q.sum()):.6g} against {least:.6g}"
    if np.any((p > 0) != (q > 0)):
        return "good parts with different outcomes"
    for order in ORDERS:
        bound = order * (order - 1) * float(promised.rho) + NUMERICAL
        found = max(log_moment(p, q, order), log_moment(q, p, order))
        if found > bound:
            return f"a Rényi moment of {found:.6g} against {bound:.6g} at order {order}"
    return None


def breaches(pairs: Iterable[tuple[Probabilities, Probabilities, Parts]], promised: Guarantee) -> list[str]:
    """All the ways in which some neighbours break a guarantee; none for a true one."""
    return [how for p, q, parts in pairs if (how := breach(p, q, parts, promised)) is not None]


def common(p: Probabilities, q: Probabilities) -> Parts:
    """The outcomes that both laws have: the good parts where no label appears or vanishes."""
    both = (p > 0) & (q > 0)
    return p * both, q * both
