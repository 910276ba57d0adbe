"""The folder that a stream lives in.

    settings.json   what was asked and what it costs, fixed at creation
    key             the secret that noise is computed from
    journal         what each round added: labels, users, its digest
    state           totals after the last round
    known           values that were known before the first round, if it continues another stream
    noise           noise that would take long to compute again; it may be missing
    releases/log    what was released after each round, and when
    ledger.json     the entry that it was paid with, if an account paid
    lock            held by the one who writes

A round is committed by replacing `state`, after its release and its part of the journal are durable. Before that
moment the round has not happened, whatever lies in the folder; after it, it has happened for ever.

A copy that was made only to be read has `published.json` in place of key, journal and state: its number of rounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.noise.keyed import TAG_BYTES, NoiseKey
from unlisted.privacy.accounting import ZCDP
from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Charge, Payer, require_payer
from unlisted.release.release import Release
from unlisted.streams.disk import (
    PRIVATE_FOLDER,
    continue_journal,
    is_there,
    make_entries_durable,
    only_writer,
    read_file,
    rename_into_place,
    replace_file,
    sealed,
    told,
    unsealed,
)
from unlisted.streams.history import FOLDER, LOG, History
from unlisted.streams.saved import KNOWN, Saved, StateFiles, known_from_bytes, rounds_of
from unlisted.streams.settings import Settings

KEY, PUBLISHED = "key", "published.json"
EXPOSED = (
    "The stream's key can be read by others than its owner, and whoever has it can take the noise off the counts. "
    "Make it private again (chmod 600 on the file key in the folder), and consider who may have read it."
)
"""What is said of a key that is not private."""


class ExposedKeyWarning(UserWarning):
    """The key of a stream can be read by others than its owner."""


class Folder:
    """One stream's files. Reading needs no lock: what is read was complete when it got its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._loaded: tuple[tuple[int, ...], Saved] | None = None

    @cached_property
    def settings(self) -> Settings:
        """What the stream is."""
        return Settings.from_bytes(read_file(self.path / "settings.json"))

    def key(self) -> NoiseKey:
        """Read the secret."""
        if not is_there(self.path / "key"):
            raise StreamError(
                "The stream's key is missing: its releases can be read, but nothing can be pushed. Push where the "
                "key is, or put it back from a copy."
            )
        return NoiseKey(unsealed(KEY, read_file(self.path / "key")))

    def round(self) -> int:
        """Read how many rounds have happened."""
        if is_there(self.path / "state") or not is_there(self.path / PUBLISHED):
            return rounds_of(read_file(self.path / "state"))
        try:
            return int(json.loads(read_file(self.path / PUBLISHED))["rounds"])
        except (ValueError, KeyError, TypeError):
            raise StreamError(f"The stream's {PUBLISHED} is torn. Make the copy again.") from None

    def only_writer(self, *, wait: bool = False) -> AbstractContextManager[None]:
        """Be the only one who writes, at once or when it is our turn."""
        return only_writer(self.path / "lock", wait=wait)

    def saved(self, settings: Settings, key: NoiseKey) -> Saved:
        """Return where the stream stands: as it is known, or read anew if somebody else has written since."""
        mark = self._mark()
        if self._loaded is None or self._loaded[0] != mark:
            state, journal = read_file(self.path / "state"), read_file(self.path / "journal")
            kept = read_file(self.path / "noise") if (self.path / "noise").exists() else None
            files = StateFiles(state, journal, kept, self.known())
            self._loaded = (mark, Saved.from_bytes(files, settings, key))
        return self._loaded[1]

    def known(self) -> pa.Array | None:
        """Read the values that were known before the first round."""
        if self.settings.known is None:
            return None
        return known_from_bytes(read_file(self.path / KNOWN), self.settings.known)

    def commit(
        self, before: Saved, after: Saved, record: bytes, release: Release | None, time: datetime | None
    ) -> None:
        """Make a round happen: all of it, or if anything fails, nothing; only the last step can fail too late."""
        self._history.log.append(_tag(self.key()), after.round, time, release)
        continue_journal(self.path / "journal", before.end, record)
        rename_into_place(self.path / "state", after.to_bytes())
        try:
            self.make_durable()
            self._loaded = (self._mark(), self._with_noise_kept(after))
        except StreamError as failure:
            raise StreamError(
                f"Round {after.round} was taken in, but a power cut may still undo it. {failure} "
                "Once that is fixed, push the same rows with the same number again; nothing counts twice."
            ) from None

    def _with_noise_kept(self, saved: Saved) -> Saved:
        """Keep the noise if that spares much; the round has happened by now, and does without if it must."""
        kept = saved.noise_to_keep()
        if kept is None:
            return saved
        try:
            rename_into_place(self.path / "noise", kept)
        except StreamError:
            return saved
        return saved.with_noise_kept()

    def make_durable(self) -> None:
        """See to it that the last round stays: what it released must not be released otherwise again."""
        make_entries_durable(self.path)

    def history(self) -> History:
        """Return what has been released up to now."""
        return self._history.look(self.round())

    def history_up_to(self, rounds: int) -> History:
        """Return what has been released up to a round that has happened."""
        return self._history.look(rounds)

    def key_is_exposed(self) -> bool:
        """Return whether others than the owner may read the key."""
        with told("read"):
            return bool((self.path / "key").stat().st_mode & 0o077)

    def release(self, number: int) -> Release:
        """Read the release after a round."""
        return replace(self.history().release(number), stamp=self.stamp())

    def stamp(self) -> dict[str, str | int] | None:
        """Read which entry of a ledger it was paid with; None if no account paid."""
        path = self.path / "ledger.json"
        if not is_there(path):
            return None
        try:
            found: dict[str, str | int] = json.loads(read_file(path))
        except ValueError:
            raise StreamError("The stream's ledger.json is torn. Restore the folder from a copy.") from None
        return found

    @cached_property
    def _history(self) -> History:
        try:
            tag = _tag(self.key())
        except StreamError:
            # Who reads does not need the key.
            tag = None
        return History(self.path, self.settings.item, tag)

    def _mark(self) -> tuple[int, ...]:
        with told("read"):
            found = (self.path / "state").stat()
        return found.st_ino, found.st_mtime_ns, found.st_size


def _tag(key: NoiseKey) -> bytes:
    """Return by what the records of a stream are known as its own."""
    return key.secret("name of the stream")[:TAG_BYTES]


def create(path: Path, settings: Settings, account: Payer | None, known: bytes | None = None) -> None:
    """Make the folder of a new stream, whole or not at all; the account pays for the stream's whole life.

    `known` is the file of the values that are known, which the settings name by its digest.
    """
    payer = require_payer(account)
    if path.exists():
        hint = "If it is a stream, it can be opened and pushed to as it is."
        raise InvalidArgumentError("path", str(path), "a folder that does not exist yet", hint)
    if not path.absolute().parent.is_dir():
        hint = "Its parent folder does not exist. Create that first."
        raise InvalidArgumentError("path", str(path), "a new folder in one that exists", hint)
    with told("written"):
        beside = Path(tempfile.mkdtemp(prefix=".unlisted-", dir=path.absolute().parent))

    def deliver() -> tuple[bytes, Guarantee]:
        with told("written"):
            beside.rename(path)
        make_entries_durable(path.absolute().parent)
        return settings.to_bytes(), _ceiling(settings, payer)

    try:
        _fill(beside, settings, known)
        with _unit_explained(settings):
            paid = payer.pay(_charge(path, settings, payer), deliver) if payer is not None else None
        if payer is None:
            deliver()
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    if not path.exists():
        raise StreamError(
            "This stream was created and paid for before, and its folder is gone. A new one needs a new path."
        )
    if paid is not None:
        replace_file(path / "ledger.json", json.dumps(paid.stamp).encode())


def _fill(folder: Path, settings: Settings, known: bytes | None) -> None:
    key = NoiseKey.fresh()
    values = None if known is None else known_from_bytes(known, settings.known)
    with told("written"):
        folder.chmod(PRIVATE_FOLDER)
        (folder / FOLDER).mkdir(PRIVATE_FOLDER)
    replace_file(folder / "settings.json", settings.to_bytes())
    replace_file(folder / "key", sealed(KEY, key.to_bytes()))
    replace_file(folder / "journal", b"")
    replace_file(folder / FOLDER / LOG, b"")
    if known is not None:
        replace_file(folder / KNOWN, known)
    replace_file(folder / "state", Saved.start(settings, key, values).to_bytes())


def _ceiling(settings: Settings, payer: Payer | None) -> Guarantee:
    """Return what the stream costs, in what its account counts."""
    accounting = ZCDP if payer is None else payer.accounting
    return accounting.ceiling(settings.mechanism, settings.at_delta)


def _charge(path: Path, settings: Settings, payer: Payer) -> Charge:
    """Return what the stream costs. A data set of users does not pay for events.

    Events of an hour and of a day are different units, and what protects one says little about the other.
    """
    if settings.unit == "event" and settings.round_length is None:
        hint = (
            "An account adds up what is said of the same events. Say how long a round is, such as '1 hour'; the "
            "rounds of all streams that the data set pays for must begin and end at the same times."
        )
        raise InvalidArgumentError("round_length", None, "given where an account pays for events", hint)
    asked = settings.to_bytes() + os.fsencode(path.absolute())
    return Charge(
        ceiling=_ceiling(settings, payer),
        question=hashlib.sha256(asked).hexdigest(),
        unit=settings.protected,
        adjacency="add_remove",
        source=settings.source,
    )


@contextmanager
def _unit_explained(settings: Settings) -> Iterator[None]:
    """Where a data set is about other units than events, say which option of the stream decides that."""
    try:
        yield
    except InvalidArgumentError as refusal:
        if settings.unit != "event" or refusal.argument != "user":
            raise
        hint = (
            f"A stream of events protects {refusal.value!r}, not all rows of a user: for a data set that protects "
            "users, give the stream the unit user and rounds_per_user (--rounds-per-user). Nothing was charged."
        )
        raise InvalidArgumentError("unit", settings.unit, f"one that protects {refusal.allowed}", hint) from None
