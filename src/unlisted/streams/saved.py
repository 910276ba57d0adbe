"""A stream's state as it lies on the disk: what only grows in a journal, what changes in one small file.

The journal has one record a round: the round's digest, the labels and users that were new in it, and what names
the noise of its step. A record's checksum covers the one before it, and the first one the key, so the last one
stands for all. The state names the journal's end and that last checksum, beside the totals. Whoever reads a state
therefore reads exactly the journal that belongs to it, even while the next round is being written behind its end.

Noise is a function of all that, and the state does not hold it. To have it at hand after a restart, it may lie in
a file of its own that names the record after which it was so; without that file it is computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.errors import StreamError
from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.mechanisms.continual.stream_state import StreamNoise, StreamState
from unlisted.mechanisms.continual.tag_table import Column, TagTable
from unlisted.noise.keyed import TAG_BYTES, NoiseKey, Tags
from unlisted.streams.contributions import Contributions
from unlisted.streams.disk import sealed, unsealed
from unlisted.streams.settings import Settings

STATE, NOISE, KNOWN = "state", "noise", "known"
_LENGTH_BYTES = 8
_CHECKSUM_BYTES = 32


class StateFiles(NamedTuple):
    """What a state is read from: its file, the journal, noise that was kept, and the values that were known."""

    state: bytes
    journal: bytes
    noise: bytes | None = None
    known: pa.Array | None = None


@dataclass(frozen=True, eq=False)
class Saved:
    """Where a stream stands after `running.round` rounds, and where its journal ends."""

    running: StreamState
    contributions: Contributions
    digests: tuple[bytes, ...]
    end: int
    chain: bytes
    known: pa.Array | None = None

    @classmethod
    def start(cls, settings: Settings, key: NoiseKey, known: pa.Array | None = None) -> Saved:
        """Return the state before the first round, with the values that are known then."""
        running = settings.mechanism.start(settings.noise_key(key, 1), known)
        return cls(running, Contributions.none(), (), 0, _first_link(key), known)

    @property
    def round(self) -> int:
        """How many rounds there were."""
        return len(self.digests)

    def in_window(self, settings: Settings, number: int, key: NoiseKey) -> Saved:
        """Return the state at the beginning of a round: a window that begins with it has no past."""
        if settings.window is None or settings.in_window(number) > 1 or number != self.round + 1:
            return self
        running = settings.mechanism.start(settings.noise_key(key, number), self.known)
        return replace(self, running=running, contributions=self.contributions.in_period(number, settings.limit))

    def after(self, running: StreamState, contributions: Contributions, digest: bytes) -> tuple[Saved, bytes]:
        """Return the state after one more round, and the record that the journal is continued with."""
        labels = running.labels.since(len(self.running.labels))
        users = contributions.users.tags.values[len(self.contributions.users) :]
        pairs = contributions.pairs.tags.values[len(self.contributions.pairs) :]
        body = _packed(
            {
                "round": self.round + 1,
                "digest": digest.hex(),
                **({"window": True} if running.round == 1 else {}),
                **running.noise.grown(self.running.noise),
            },
            _to_ipc(labels),
            running.tags.values[len(self.running.tags) :].tobytes(),
            _to_ipc(_as_binary(users)),
            *([pairs.tobytes()] if len(pairs) else []),
        )
        chain = hashlib.sha256(self.chain + body).digest()
        record = len(body).to_bytes(_LENGTH_BYTES) + chain + body
        end = self.end + len(record)
        after = replace(
            self,
            running=running,
            contributions=contributions,
            digests=(*self.digests, digest),
            end=end,
            chain=chain,
        )
        return after, record

    def to_bytes(self) -> bytes:
        """Return the state without what the journal holds."""
        running = self.running
        header = {
            "round": self.round,
            **running.noise.said(),
            "begun": None if running.begun is None else running.begun.hex(),
            "end": self.end,
            "chain": self.chain.hex(),
            "period": self.contributions.period,
        }
        totals, shown = _to_npy(running.totals), _to_npy(np.packbits(running.shown))
        counts, recent = (_to_npy(_narrow(of)) for of in (self.contributions.counts, self.contributions.recent))
        return sealed(STATE, _packed(header, totals, shown, counts, recent))

    def noise_to_keep(self) -> bytes | None:
        """Return the noise as a file that spares drawing it again; None while that would spare little."""
        found = self.running.noise.to_keep()
        if found is None:
            return None
        step, numbers = found
        header = {"step": step, "round": self.round, "chain": self.chain.hex()}
        return sealed(NOISE, _packed(header, _to_npy(numbers)))

    def with_noise_kept(self) -> Saved:
        """Return the same state, knowing that its noise is kept."""
        found = self.running.noise.to_keep()
        if found is None:
            return self
        return replace(self, running=replace(self.running, noise=self.running.noise.with_kept(*found)))

    @classmethod
    def from_bytes(cls, files: StateFiles, settings: Settings, key: NoiseKey) -> Saved:
        """Read a state, the journal that belongs to it, and noise that was kept, if it belongs to them."""
        state, journal, noise, known = files
        header, totals, shown, *contributed = _unpacked(unsealed(STATE, state))
        end, chain = header["end"], bytes.fromhex(header["chain"])
        grown, last = _Grown.read(memoryview(journal)[:end], _first_link(key))
        if len(journal) < end or last != chain:
            raise StreamError(
                "The stream's journal is torn or was changed: it is not the one that its state belongs to. "
                "Restore the folder from a copy; nothing was released or changed."
            )
        drawn = settings.mechanism.no_noise().read(header, grown.headers[grown.since :])
        if noise is not None:
            drawn = _with_kept(drawn, noise, grown)
        noise_key = settings.noise_key(key, max(1, header["round"]))
        start = settings.mechanism.start(noise_key, known)
        tags = np.concatenate([start.tags.values, _tags_in(grown.tags)])
        labels = grown.labels if known is None else (known, *grown.labels)
        running = StreamState(
            key=noise_key,
            round=header["round"] - grown.since,
            labels=_table_of(labels, noise_key, drawn.found_by(tags)),
            totals=_from_npy(totals),
            tags=Column(tags),
            noise=drawn,
            shown=np.unpackbits(_from_npy(shown), count=len(tags)).astype(bool),
            begun=None if header["begun"] is None else bytes.fromhex(header["begun"]),
            known=start.known,
        )
        # Version 0.1 knew no periods.
        counts, recent = (_from_npy(part).astype(np.int64) for part in (*contributed, contributed[0])[:2])
        contributions = Contributions(grown.users, counts, recent, header.get("period", 0), grown.pairs)
        return cls(running, contributions, grown.digests, end, chain, known)


def known_to_bytes(labels: pa.Array) -> bytes:
    """Return values that are known before the first round, as a file."""
    return sealed(KNOWN, _to_ipc(labels))


def known_from_bytes(data: bytes, digest: str | None) -> pa.Array:
    """Read values that are known, and refuse others than the settings name."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise StreamError(
            "The stream's known values are torn or were changed. Restore the folder from a copy; nothing was "
            "released or changed."
        )
    return pa.concat_arrays(_from_ipc(memoryview(unsealed(KNOWN, data))))


def extent_of(state: bytes) -> tuple[int, int]:
    """Return how many rounds a state has seen, and where the journal ends that belongs to it."""
    header = _unpacked(unsealed(STATE, state))[0]
    return int(header["round"]), int(header["end"])


def rounds_of(state: bytes) -> int:
    """Return how many rounds a state has seen."""
    return int(_unpacked(unsealed(STATE, state))[0]["round"])


@dataclass(frozen=True)
class _Grown:
    """What a journal has gathered; labels and pairs, of the last window, which began after `since` rounds."""

    labels: tuple[pa.Array, ...]
    tags: bytes
    users: TagTable
    pairs: TagTable
    headers: tuple[dict[str, Any], ...]
    links: tuple[bytes, ...]
    since: int

    @property
    def digests(self) -> tuple[bytes, ...]:
        """The digest of every round."""
        return tuple(bytes.fromhex(header["digest"]) for header in self.headers)

    @classmethod
    def read(cls, journal: memoryview, link: bytes) -> tuple[_Grown, bytes]:
        """Read records up to the end, or to the first that is damaged; return the last good checksum with them."""
        labels: list[pa.Array] = []
        users: list[bytes] = []
        pairs: list[memoryview] = []
        tags: list[memoryview] = []
        headers: list[dict[str, Any]] = []
        links: list[bytes] = []
        at = since = 0
        while at < len(journal):
            start = at + _LENGTH_BYTES + _CHECKSUM_BYTES
            end = start + int.from_bytes(journal[at : at + _LENGTH_BYTES])
            body = journal[start:end]
            next_link = hashlib.sha256(link + body).digest()
            if next_link != journal[start - _CHECKSUM_BYTES : start]:
                break
            at, link = end, next_link
            header, new_labels, new_tags, new_users, *new_pairs = _unpacked(body)
            if header.get("window"):
                since = len(headers)
                for past in (labels, tags, pairs):
                    past.clear()
            labels += _from_ipc(new_labels)
            users += [_bytes_of(chunk) for chunk in _from_ipc(new_users)]
            tags.append(new_tags)
            pairs += new_pairs
            headers.append(header)
            links.append(link)
        of_users, of_pairs = (TagTable(Column(_tags_in(b"".join(parts)))) for parts in (users, pairs))
        grown = cls(tuple(labels), b"".join(tags), of_users, of_pairs, tuple(headers), tuple(links), since)
        return grown, link


def _with_kept(noise: StreamNoise, data: bytes, grown: _Grown) -> StreamNoise:
    """Use noise that was kept, if it is that of this journal's past; what is torn or of another past is drawn."""
    try:
        header, numbers = _unpacked(unsealed(NOISE, data))
    except StreamError:
        return noise
    number = header["round"]
    if not grown.since < number <= len(grown.links) or grown.links[number - 1].hex() != header["chain"]:
        return noise
    return noise.with_kept(header["step"], _from_npy(numbers))


def _first_link(key: NoiseKey) -> bytes:
    """Return what the first checksum begins with: a journal belongs to one key."""
    return key.secret("journal")


def _table_of(chunks: tuple[pa.Array, ...], key: NoiseKey, found_by: Tags | None) -> LabelTable:
    index = None if found_by is None else TagTable(Column(found_by))
    return LabelTable((pa.concat_arrays(chunks),) if chunks else (), index, key)


def _tags_in(data: bytes) -> Tags:
    return np.frombuffer(data, np.uint8).reshape(-1, TAG_BYTES)


def _as_binary(tags: Tags) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(TAG_BYTES), len(tags), [None, pa.py_buffer(tags.tobytes())])


def _bytes_of(tags: pa.Array) -> bytes:
    start = tags.offset * TAG_BYTES
    return memoryview(tags.buffers()[1])[start : start + len(tags) * TAG_BYTES].tobytes()


def _narrow(counts: NDArray[np.int64]) -> NDArray[Any]:
    """Return small numbers in as few bytes as they need: one for each user is rewritten every round."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _packed(header: dict[str, Any], *parts: bytes) -> bytes:
    """Put a few values and some parts into one body; the header says how long each part is."""
    said = json.dumps(header | {"parts": [len(part) for part in parts]}).encode()
    return b"".join((len(said).to_bytes(_LENGTH_BYTES), said, *parts))


def _unpacked(body: bytes | memoryview) -> tuple[Any, ...]:
    view = memoryview(body)
    at = _LENGTH_BYTES + int.from_bytes(view[:_LENGTH_BYTES])
    header = json.loads(bytes(view[_LENGTH_BYTES:at]))
    parts = []
    for length in header["parts"]:
        parts.append(view[at : at + length])
        at += length
    return header, *parts


def _to_ipc(labels: pa.Array) -> bytes:
    if len(labels) == 0:
        return b""
    buffer = io.BytesIO()
    table = pa.table({"label": labels})
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return buffer.getvalue()


def _from_ipc(data: memoryview) -> list[pa.Array]:
    if len(data) == 0:
        return []
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        return list(stream.read_all().column("label").chunks)


def _to_npy(values: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def _from_npy(data: memoryview) -> NDArray[Any]:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
