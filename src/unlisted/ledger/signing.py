"""Receipts that a ledger signs: whoever has its public key can check one, without the ledger.

What is signed is the part of a receipt that names the ledger's entry: data set, version, account, number and hash,
the exact amounts, and the digest of all that the receipt says of its release. So no word of a receipt can be
changed unnoticed. The private key (Ed25519) lies in the ledger: whoever can read all of that could forge receipts.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)
from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.entries import canonical
from unlisted.ledger.schema import signing_keys
from unlisted.query.charging import DIGEST, SIGNATURE, SIGNED_BY
from unlisted.release.serialize import receipt_digest

Signer = Callable[[Mapping[str, Any]], dict[str, str]]
"""Takes what is to be signed and returns who signed it, and the signature."""


def signer(connection: Connection) -> Signer | None:
    """Return what signs with the ledger's newest key; None where there is none to read."""
    newest = sa.select(signing_keys).order_by(signing_keys.c.created.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    if row is None:
        return None
    private, public = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(row.private)), row.public

    def sign(said: Mapping[str, Any]) -> dict[str, str]:
        signed = {**said, SIGNED_BY: public}
        return {SIGNED_BY: public, SIGNATURE: base64.b64encode(private.sign(_bytes(signed))).decode()}

    return sign


def public_keys(connection: Connection) -> list[Ed25519PublicKey]:
    """Return the public halves of all keys that the ledger ever signed with, newest first."""
    found = connection.execute(sa.select(signing_keys.c.public).order_by(signing_keys.c.created.desc())).scalars()
    return [Ed25519PublicKey.from_public_bytes(bytes.fromhex(one)) for one in found]


def as_pem(key: Ed25519PublicKey) -> str:
    """Return a public key as other programs read it."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_public_keys(pem: bytes) -> list[Ed25519PublicKey]:
    """Read what `as_pem` wrote, one key or several."""
    end = b"-----END PUBLIC KEY-----"
    try:
        keys = [load_pem_public_key(one + end) for one in pem.split(end)[:-1]]
    except ValueError:
        keys = []
    found = [one for one in keys if isinstance(one, Ed25519PublicKey)]
    if not found or len(found) != len(keys):
        hint = "`unlisted ledger public-key` writes it."
        raise InvalidArgumentError("--public-key", "the file", "an Ed25519 public key in PEM", hint)
    return found


def is_signed(receipt: Mapping[str, Any]) -> bool:
    """Return whether a receipt carries a signature; those of version 0.1 do not."""
    stamp = receipt.get("ledger")
    return isinstance(stamp, Mapping) and SIGNATURE in stamp


def wrong_with(receipt: Mapping[str, Any], keys: Iterable[Ed25519PublicKey]) -> str | None:
    """Return what is wrong with a receipt's signature; None if one of the keys signed just these words."""
    stamp = receipt.get("ledger")
    if not isinstance(stamp, Mapping) or not isinstance(stamp.get(SIGNATURE), str):
        return "it is not signed"
    try:
        signature = base64.b64decode(stamp[SIGNATURE], validate=True)
    except (binascii.Error, ValueError):
        return "its signature cannot be read"
    said = _bytes({name: value for name, value in stamp.items() if name != SIGNATURE})
    if not any(_fits(key, signature, said) for key in keys):
        return "it was not signed with this ledger's key, or was changed"
    # A stream is paid for once: its signature is about that, and not about each of its releases.
    if DIGEST in stamp and stamp[DIGEST] != receipt_digest(receipt):
        return "it was changed after it was signed"
    return None


def _fits(key: Ed25519PublicKey, signature: bytes, said: bytes) -> bool:
    try:
        key.verify(signature, said)
    except InvalidSignature:
        return False
    return True


def _bytes(said: Mapping[str, Any]) -> bytes:
    return canonical(said).encode("utf-8", "surrogatepass")
