"""Noise that is a function of what it belongs to: the same label at the same node always gets the same noise.

A stream must give one noise to each (label, node) for ever, and storing it would mean storing a table of
secrets. So the bits of a draw are computed from a secret key instead, in two steps that hash every part once:

    tag(label)   = first 16 bytes of HMAC-SHA-256(key, "label" ‖ label)
    node key     = HMAC-SHA-256(key, "node" ‖ node)
    bits of draw = AES-256 under the node key of tag(label), and beyond these 128 bits
                   AES in counter mode under HMAC-SHA-256(key, "more" ‖ label tag ‖ node)

or, where millions of labels come at once, with a tag that is computed for all of them together:

    block tag    = AES-256 in CBC mode over a block with the name's length, then the name, padded; the last block,
                   under HMAC-SHA-256(key, "tags" ‖ what is named)

(CBC-MAC, which is a pseudorandom function as long as no message begins another one; the length in front sees to
that.) The tag of a pair is AES-256 of the exclusive or of two such tags, which two pairs share with probability
2^-128. `node` and `label` are injective encodings made by the caller; a node's includes the digest of its
contents, so that other contents never meet old noise. To anyone without the key the bits are indistinguishable
from fair independent ones: this is the one place where the guarantee is computational. Two labels share a tag with
probability below n²/2^129.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import KEY_BYTES, Bits, CipherBits

TAG_BYTES = 16
_BLOCK_BYTES = 64
_KEPT = (np.tri(TAG_BYTES + 1, TAG_BYTES, -1, dtype=np.uint8) * np.uint8(255)).view("<u8")
"""In row n the first n bytes are full: which bytes of a block belong to a name of which n are left."""

Tags = NDArray[np.uint8]
"""One row of `TAG_BYTES` bytes for each label."""


class NoiseKey:
    """A secret from which persistent noise is computed: as sensitive as the data, and hidden from its repr."""

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != KEY_BYTES:
            # The message says no more than this: a secret of the wrong length is still a secret.
            raise InvalidArgumentError("secret", "<hidden>", f"{KEY_BYTES} bytes")
        self._secret = secret

    @classmethod
    def fresh(cls) -> NoiseKey:
        """Draw a key from the operating system."""
        return cls(os.urandom(KEY_BYTES))

    def to_bytes(self) -> bytes:
        """Return the secret itself, for whoever keeps it as closely as the data."""
        return self._secret

    def __repr__(self) -> str:
        return "<NoiseKey>"

    def tags(self, names: Iterable[bytes], of: Literal[b"label", b"user"] = b"label") -> Tags:
        """Return the tags of encoded labels, or of users: who does not have the key cannot tell whose they are."""
        # The same as `_hash`, which would prepare the key a million times: HMAC is two hashes that begin with it.
        key = self._secret.ljust(_BLOCK_BYTES, b"\0")
        inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key) + of + b":")
        outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key))
        tags = []
        for name in names:
            first, second = inner.copy(), outer.copy()
            first.update(name)
            second.update(first.digest())
            tags.append(second.digest()[:TAG_BYTES])
        return np.frombuffer(b"".join(tags), dtype=np.uint8).reshape(-1, TAG_BYTES)

    def block_tags(self, data: NDArray[np.uint8], ends: NDArray[np.integer], *, of: bytes) -> Tags:
        """Return the tags of many names at once; name i is what lies between the ends i and i + 1 in `data`."""
        cipher = Cipher(algorithms.AES(self._hash(b"tags", of)), modes.ECB()).encryptor()  # noqa: S305
        padded = np.concatenate([data, np.zeros(TAG_BYTES, dtype=np.uint8)])
        # The 16 bytes that begin at each place.
        at_once = np.ndarray(len(padded) - TAG_BYTES + 1, dtype=f"V{TAG_BYTES}", buffer=padded, strides=(1,))
        starts, lengths = ends[:-1].astype(np.int64), np.diff(ends).astype(np.int64)
        first = np.zeros((len(lengths), 2), dtype="<u8")
        first[:, 0] = lengths
        tags = _enciphered(cipher, first)
        longer: NDArray[np.int64] | slice = slice(None)
        shortest = int(lengths.min()) if len(lengths) else 0
        for done in range(0, int(lengths.max(initial=0)), TAG_BYTES):
            if done >= shortest:
                longer = np.flatnonzero(lengths > done)
            # The next 16 bytes of every name that goes on so far; what lies beyond its end is 0.
            blocks = at_once[starts[longer] + done].view("<u8").reshape(-1, 2)
            if shortest < done + TAG_BYTES:
                blocks &= _KEPT[np.minimum(lengths[longer] - done, TAG_BYTES)]
            blocks ^= tags[longer]
            tags[longer] = _enciphered(cipher, blocks)
        return tags.view(np.uint8)

    def joint_tags(self, one: Tags, other: Tags, *, of: bytes) -> Tags:
        """Return the tags of pairs of which both parts have a tag, each of another kind of thing."""
        cipher = Cipher(algorithms.AES(self._hash(b"tags", of)), modes.ECB()).encryptor()  # noqa: S305
        return np.frombuffer(cipher.update((one ^ other).tobytes()), dtype=np.uint8).reshape(-1, TAG_BYTES)

    def secret(self, purpose: str) -> bytes:
        """Return a secret of its own for a purpose that has nothing to do with noise."""
        return self._hash(b"secret", purpose.encode())

    def draws(self, node: bytes, tags: Tags) -> KeyedDraws:
        """Return the draws that belong to a node, one for each tag."""
        cipher = Cipher(algorithms.AES(self._hash(b"node", node)), modes.ECB()).encryptor()  # noqa: S305
        # ECB is right here: distinct tags, one block each, and the output is used as bits, not as a secret
        # message.
        blocks = np.frombuffer(cipher.update(np.ascontiguousarray(tags).tobytes()), dtype=np.uint8)
        return KeyedDraws(blocks.reshape(-1, TAG_BYTES), lambda i: self._more(tags[i].tobytes(), node))

    def _more(self, tag: bytes, node: bytes) -> Bits:
        return CipherBits(self._hash(b"more", tag + node))

    def _hash(self, purpose: bytes, message: bytes) -> bytes:
        return hmac.digest(self._secret, b"%s:%s" % (purpose, message), "sha256")


def _enciphered(cipher: CipherContext, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return blocks of two words each, enciphered one by one."""
    blocks = np.empty(words.nbytes + TAG_BYTES - 1, dtype=np.uint8)
    cipher.update_into(words.view(np.uint8).ravel().data, blocks.data)
    return blocks[: words.nbytes].view("<u8").reshape(-1, 2)


class KeyedDraws:
    """Draws whose bits are fixed by key, label and node, whatever order they are asked for in."""

    def __init__(self, blocks: NDArray[np.uint8], more: Callable[[int], Bits]) -> None:
        self._blocks = blocks
        self._more = more

    def __len__(self) -> int:
        return len(self._blocks)

    def leading(self) -> NDArray[np.uint16]:
        """Return the first 16 bits of every draw."""
        return np.ascontiguousarray(self._blocks[:, :2]).view("<u2").ravel().astype(np.uint16, copy=False)

    def following(self, which: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the next 64 bits of these draws."""
        words = np.ascontiguousarray(self._blocks[which, 2:10]).view("<u8").ravel()
        return words.astype(np.uint64, copy=False)

    def more(self, which: int) -> Bits:
        """Return the bits of one draw after those, without end."""
        return self._more(which)
