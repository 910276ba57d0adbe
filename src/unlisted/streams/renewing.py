"""The next life of a stream: the same question on a new budget, in a new folder, under a new key.

A stream pays once for all its rounds, and then it is over. What follows it is a stream of its own with a guarantee
of its own; for somebody who is in both lives the two add up. Counts begin anew, and so does what a user may
contribute.

The values that the last life has *shown* may be kept: they are public, and a public value needs no threshold. They
are read from the releases and from nothing else: a value that was counted and never shown is as unknown as any
other.
`mechanisms/continual/binary/histogram.md` has the proof.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from pathlib import Path

from unlisted.errors import InvalidArgumentError
from unlisted.query.charging import Payer
from unlisted.streams import folder
from unlisted.streams.folder import Folder
from unlisted.streams.question import StreamNoise, StreamQuestion
from unlisted.streams.saved import known_to_bytes
from unlisted.streams.settings import Settings


def next_question(last: Settings, rounds: int | None, noise: StreamNoise | None) -> StreamQuestion:
    """Return the question of the next life: the last one's, but for what is said."""
    asked = {one.name: getattr(last, one.name) for one in fields(StreamQuestion)}
    asked |= {} if rounds is None else {"rounds": rounds}
    asked |= {} if noise is None else {"noise": noise}
    return StreamQuestion(**asked)


def renew(last: Folder, to: Path, settings: Settings, account: Payer | None, *, keep_values: bool) -> None:
    """Make the folder of the next life, whole or not at all."""
    if to.absolute().is_relative_to(last.path.absolute()):
        raise InvalidArgumentError("to", str(to), "outside of the stream's own folder")
    if not keep_values:
        folder.create(to, settings, account)
        return
    rounds = last.round()
    values = last.history_up_to(rounds).shown_so_far(rounds)
    if not len(values):
        folder.create(to, settings, account)
        return
    known = known_to_bytes(values)
    folder.create(to, replace(settings, known=hashlib.sha256(known).hexdigest()), account, known)
