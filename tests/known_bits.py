"""Bits that a test can draw again. The package has no seed; whoever wants known bits brings them, as here."""

from __future__ import annotations

import hashlib

from unlisted.noise.bits import Bits

_BLOCK_BYTES = 1 << 16


class KnownBits(Bits):
    """The bits that SHAKE-256 makes of a name: as good as fair, and the same on every run."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._blocks = 0
        self._ready = b""
        self._position = 0

    def take(self, n: int) -> bytes:
        while len(self._ready) - self._position < n:
            block = hashlib.shake_256(b"%d:%s" % (self._blocks, self._name)).digest(_BLOCK_BYTES)
            self._ready = self._ready[self._position :] + block
            self._position = 0
            self._blocks += 1
        start, self._position = self._position, self._position + n
        return self._ready[start : self._position]


class ScriptedBits(Bits):
    """Exactly these bytes, in this order; a test that draws more has found something."""

    def __init__(self, *script: bytes) -> None:
        self._script = b"".join(script)
        self._position = 0

    @property
    def unused(self) -> int:
        """How many bytes of the script were not drawn."""
        return len(self._script) - self._position

    def take(self, n: int) -> bytes:
        if n > self.unused:
            raise AssertionError(f"{n} bytes were drawn where the script has {self.unused} left")
        start, self._position = self._position, self._position + n
        return self._script[start : self._position]
