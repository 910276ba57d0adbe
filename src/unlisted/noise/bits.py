"""The only door for randomness, and how its bits are shared out among many draws.

`fresh_bits()` takes a new 256-bit key from the operating system and expands it with AES in counter mode. Every
release opens its own door and forgets it, so no generator state outlives a call: a forked process, a restored
snapshot or a second thread cannot meet the same noise. There is no seed anywhere in the package; whoever tests
with known bits brings a `Bits` of their own.

A table (`table.py`) draws many values at once. It asks for 16 bits of every draw, for 64 more of the few that
these leave open, and for an endless row of the one in 2^50 that even those leave open. `SequentialDraws` answers
from one row of bits; `keyed.py` answers from a function of what the noise belongs to.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError

KEY_BYTES = 32


class Bits(ABC):
    """An endless row of fair, independent coin flips."""

    @abstractmethod
    def take(self, n: int) -> bytes:
        """Return the next n bytes."""

    def shorts(self, n: int) -> NDArray[np.uint16]:
        """Return n uniform 16-bit numbers."""
        return np.frombuffer(self.take(2 * n), dtype=np.uint16)

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return n uniform 64-bit numbers."""
        return np.frombuffer(self.take(8 * n), dtype=np.uint64)

    def integer(self, bits: int) -> int:
        """Return a uniform number of so many bits."""
        size = (bits + 7) // 8
        return int.from_bytes(self.take(size), "big") >> (8 * size - bits)

    def below(self, n: int) -> int:
        """Return a uniform number from 0 to n - 1, exactly: what does not divide evenly is drawn again."""
        if n < 1:
            raise InvalidArgumentError("n", n, "1 or above")
        width = (n - 1).bit_length()
        while True:
            drawn = self.integer(width) if width else 0
            if drawn < n:
                return drawn


class CipherBits(Bits):
    """AES-256 in counter mode under a key that nobody chose: from the operating system or from a keyed hash."""

    def __init__(self, key: bytes) -> None:
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def take(self, n: int) -> bytes:
        """Return the next n bytes of the key stream."""
        return self._stream.update(bytes(n))


def fresh_bits() -> Bits:
    """Open the door: new bits from the operating system, for one release."""
    return CipherBits(os.urandom(KEY_BYTES))


class Draws(Protocol):
    """The bits of some independent draws."""

    def __len__(self) -> int:
        """Return how many draws there are."""
        ...

    def leading(self) -> NDArray[np.uint16]:
        """Return the first 16 bits of every draw."""
        ...

    def following(self, which: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the next 64 bits of these draws."""
        ...

    def more(self, which: int) -> Bits:
        """Return the bits of one draw after those, without end."""
        ...


class SequentialDraws:
    """Draws that take what they need from one row of bits, in the order they ask."""

    def __init__(self, n: int, bits: Bits) -> None:
        self._n = n
        self._bits = bits

    def __len__(self) -> int:
        return self._n

    def leading(self) -> NDArray[np.uint16]:
        """Return the first 16 bits of every draw."""
        return self._bits.shorts(self._n)

    def following(self, which: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the next 64 bits of these draws."""
        return self._bits.words(len(which))

    def more(self, which: int) -> Bits:  # noqa: ARG002 - every draw continues the same row
        """Return the row itself."""
        return self._bits
