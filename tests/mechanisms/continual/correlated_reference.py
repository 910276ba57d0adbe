"""Correlated noise written plainly: Python's integers, one label at a time, from the first step every time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from tests.mechanisms.continual.binary_reference import Round, Shown, digest_of_round

from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey


def followed(recursion: Recursion, z: Sequence[int]) -> list[tuple[int, ...]]:
    """(r, W, S_1, S_2, …) after every step, for these draws."""
    p, q = recursion.precision, recursion.guard
    total, states, found = 0, [0] * len(recursion.decays), []
    for one in z:
        weighed = sum(b * state for b, state in zip(recursion.weights, states, strict=True))
        r = (weighed + 2 ** (p + q) // 2) // 2 ** (p + q)
        n = one - r
        total += n
        states = [a * state // 2**p + n * 2**q for a, state in zip(recursion.decays, states, strict=True)]
        found.append((r, total, *states))
    return found


def chain(steps: Sequence[Sequence[Round]]) -> list[bytes]:
    """The digest of everything up to the end of each step."""
    found: list[bytes] = []
    for step in steps:
        first, *others = (digest_of_round(one) for one in step)
        for other in others:
            first = hashlib.sha256(b"and then:" + first + other).digest()
        found.append(hashlib.sha256(b"one more step:" + (found[-1] if found else b"") + first).digest())
    return found


def tag_of(key: NoiseKey, name: bytes, of: bytes) -> bytes:
    """The tag of one name: AES in CBC mode over its length and its bytes, the last block."""
    secret = hmac.digest(key.to_bytes(), b"tags:" + of, "sha256")
    padded = len(name).to_bytes(16, "little") + name + bytes(-len(name) % 16)
    return Cipher(algorithms.AES(secret), modes.CBC(bytes(16))).encryptor().update(padded)[-16:]


def draw(mechanism: CorrelatedHistogram, key: NoiseKey, label: str, step: int, past: bytes) -> int:
    """The draw of one label at one step."""
    variance, recursion = mechanism.law.variance, mechanism.recursion
    numbers = [recursion.precision, recursion.guard, recursion.grid, *recursion.decays, *recursion.weights]
    law = b"wide gaussian %d/%d" % (variance.numerator, variance.denominator)
    name = law + b":recursion " + b" ".join(b"%d" % number for number in numbers) + b":%d:" % step + past
    tag = np.frombuffer(tag_of(key, label.encode(), b"text"), np.uint8).reshape(1, -1)

    def part(of: Fraction, called: bytes) -> int:
        return int(_table(of).sample_each(key.draws(name + called, tag))[0])

    if variance <= 512**2:
        return part(variance, b":fine")
    unit = 2 ** ((int(variance).bit_length() + 1) // 4 - 1)
    return unit * part((variance - 6 * unit**2) / unit**2, b":coarse") + part(Fraction(6 * unit**2), b":fine")


@lru_cache(maxsize=8)
def _table(variance: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian(variance)


def plainly(mechanism: CorrelatedHistogram, rounds: Sequence[Round], key: NoiseKey) -> list[Shown]:
    """What is shown in every release."""
    every = mechanism.every
    steps = [rounds[last - every : last] for last in range(every, len(rounds) + 1, every)]
    pasts = chain(steps)
    grid = 2**mechanism.recursion.grid
    answers: list[Shown] = []
    before: set[str] = set()
    for t in range(1, len(steps) + 1):
        noisy = {}
        for label in {label for step in steps[:t] for one in step for label, count in one.items() if count > 0}:
            z = [draw(mechanism, key, label, s, pasts[s - 1]) for s in range(1, t + 1)]
            total = sum(min(one.get(label, 0), 2**62 // mechanism.rounds) for step in steps[:t] for one in step)
            noisy[label] = total + (followed(mechanism.recursion, z)[-1][1] + grid // 2) // grid
        length = t.bit_length()
        place = t - 1 if t < 32 else 16 * (length - 5) + (t >> (length - 5)) - 1
        shown = {label for label, count in noisy.items() if count > mechanism.thresholds[place]}
        if mechanism.display == "sticky":
            shown |= before
            before = shown
        answers.append(
            sorted(((label, noisy[label]) for label in shown), key=lambda row: (-row[1], row[0].encode()))
        )
    return answers
