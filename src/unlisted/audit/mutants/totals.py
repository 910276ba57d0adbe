"""Mutants of totals: a number moves more than is said, has no noise, or is not paid for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from unlisted.audit.laws.find_then_count import sums, true_totals
from unlisted.audit.laws.labels import Crowd
from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import OutputLaw, independent
from unlisted.audit.mutants.mutant import Mutant, Noise
from unlisted.audit.subject import OpenBits, Pair, Subject
from unlisted.audit.subjects.labels import joined
from unlisted.audit.subjects.totals import different, total_subject
from unlisted.mechanisms.totals.total import DistinctTotal
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.on_counts import noise_price
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

_LAW = DiscreteGaussian(Fraction(1))
_FOUND = ("a",)
"""The labels that were released, after which totals are asked."""

Numbers = Callable[[Crowd], tuple[int, ...]]


def distinct_moved_by_one(bits: OpenBits) -> Mutant:
    """Price the number of different values as if a user could bring one new value, where the bound is three."""
    right = DistinctTotal(DiscreteLaplace(Fraction(2)), Sensitivity(3))
    return Mutant(
        "A user may bring three values that nobody else has, and the number is priced as if it moved by one.",
        total_subject("different values moved by one", right, different, noise_price(right.law, 1, 1), bits),
        total_subject("different values moved by one, repaired", right, different, right.guarantee(), bits),
        trials=200_000,
    )


def other_from_true_counts(bits: OpenBits) -> Mutant:
    """Say how many users have a value that is not shown by counting what was held back, without noise."""
    claim = Guarantee(_LAW.rho(1), Fraction(1, 1000))
    pair = _joining("ab")

    def other(crowd: Crowd) -> tuple[int, ...]:
        return (true_totals(crowd, _FOUND, 1)["other"],)

    return Mutant(
        "How many users have a value that is not shown is computed from the true counts of what was held back.",
        _told("everything else by true counts", claim, other, pair, None),
        _told("everything else by true counts, repaired", claim, other, pair, Noise(_LAW, bits)),
    )


def other_values_moved_by_one(bits: OpenBits) -> Mutant:
    """Price how many different values are not shown as if a user could bring one, where it brings two."""
    crowd = {"a": 3}
    pair = Pair(f"bc joins {crowd}", crowd, joined(crowd, "bc"))

    def numbers(crowd: Crowd) -> tuple[int, ...]:
        return (true_totals(crowd, (), 2)["other_values"],)

    def claim(shift: int) -> Guarantee:
        return Guarantee(_LAW.rho(shift), Fraction(1, 1000))

    return Mutant(
        "A user brings two values that nobody else has, and the number of them is priced for one.",
        _told("values behind everything else moved by one", claim(1), numbers, pair, Noise(_LAW, bits)),
        _told("values behind everything else, repaired", claim(2), numbers, pair, Noise(_LAW, bits)),
        trials=60_000,
    )


def totals_not_paid(bits: OpenBits) -> Mutant:
    """Release the number of users beside the counts of found labels, at the price of the counts."""
    pair = _joining("a")

    def numbers(crowd: Crowd) -> tuple[int, ...]:
        return sums(crowd, _FOUND, 1, 1)["a"], true_totals(crowd, _FOUND, 1)["users"]

    def claim(times: int) -> Guarantee:
        return Guarantee(times * _LAW.rho(1), Fraction(1, 1000))

    return Mutant(
        "A user moves a count and the number of users, and only the count is paid for.",
        _told("totals with no share", claim(1), numbers, pair, Noise(_LAW, bits)),
        _told("totals with no share, repaired", claim(2), numbers, pair, Noise(_LAW, bits)),
        trials=60_000,
    )


def threshold_on_money(bits: OpenBits) -> Mutant:
    """Show a value if its sum is above a threshold that was made for users: one rich user shows it."""
    threshold, rich = 12, 30
    pair = Pair("a rich user joins nobody", {}, {"a": 1})
    claim = Guarantee(_LAW.rho(1), _LAW.tail(threshold))

    def shown(name: str, weight: int) -> Subject:
        noise = Noise(_LAW, bits)

        def seen(number: int) -> int | None:
            return number if number > threshold else None

        def run(crowd: Crowd) -> int | None:
            return seen(weight * crowd.get("a", 0) + noise()) if crowd else None

        def law(crowd: Crowd) -> OutputLaw:
            if not crowd:
                return OutputLaw.exactly({None: Fraction(1)})
            return noise_law(_LAW).seen_as(lambda z: seen(weight * crowd["a"] + z))

        return Subject(name, claim, lambda: [pair], run, law)

    return Mutant(
        "Whether a value is shown depends on its sum of money, with the threshold of a number of users.",
        shown("threshold on money", rich),
        shown("threshold on money, repaired", 1),
    )


def sum_bounded_by_row(bits: OpenBits) -> Mutant:
    """Bring each row's amount within the bound, and not what a user has of the item in all its rows."""
    pair = Pair("three rows of a join", {"a": 3}, {"a": 3, "aaa": 1})
    claim = Guarantee(_LAW.rho(1), Fraction(1, 1000))

    def by_row(crowd: Crowd) -> tuple[int, ...]:
        return (sum(times * len(rows) for rows, times in crowd.items()),)

    def by_user(crowd: Crowd) -> tuple[int, ...]:
        return (sum(times * min(1, len(rows)) for rows, times in crowd.items()),)

    return Mutant(
        "A sum of amounts up to 1 is bounded row by row, so that a user of three rows moves it by three.",
        _told("sum bounded by row", claim, by_row, pair, Noise(_LAW, bits)),
        _told("sum bounded by row, repaired", claim, by_user, pair, Noise(_LAW, bits)),
        trials=60_000,
    )


def _joining(user: str) -> Pair:
    crowd = {"a": 3, "b": 2}
    return Pair(f"{user} joins {crowd}", crowd, joined(crowd, user))


def _told(name: str, claim: Guarantee, numbers: Numbers, pair: Pair, noise: Noise | None) -> Subject:
    """Return numbers as a subject, each with noise of its own or all without."""

    def run(crowd: Crowd) -> tuple[int, ...]:
        return tuple(number + (noise() if noise else 0) for number in numbers(crowd))

    def law(crowd: Crowd) -> OutputLaw:
        of = noise_law(_LAW) if noise else OutputLaw.exactly({0: Fraction(1)})
        return independent([of.seen_as(number.__add__) for number in numbers(crowd)], tuple)

    return Subject(name, claim, lambda: [pair], run, law)
