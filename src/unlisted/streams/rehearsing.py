"""A round of no rows, taken in before the real one and thrown away: what fails there uses up no round.

From the statements that read a source to the bytes of a release and of the state, under a key of its own. It tells
nothing of any row, so what fails in it is refused in words.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from unlisted.noise.keyed import NoiseKey
from unlisted.query.data import REHEARSED
from unlisted.release.release import Release
from unlisted.streams.answers import released
from unlisted.streams.contributions import Contributions
from unlisted.streams.offers import Offered
from unlisted.streams.saved import Saved
from unlisted.streams.settings import Settings
from unlisted.tables.cancelling import rehearsing
from unlisted.tables.failures import uncharged
from unlisted.tables.table import Table

Counted = Callable[[Table], AbstractContextManager[Offered]]
"""How the rows of a table become a round."""


def rehearse(settings: Settings, table: Table, counted: Counted) -> None:
    """Take in rounds of no rows up to the first release."""
    with uncharged(), rehearsing():
        signature = table.engine.signature()
        name = None if signature is None else (signature, table.user, settings)
        if name in REHEARSED:
            return
        with counted(table.rehearsal(settings.question)) as round_:
            digest, people = round_.digest(), round_.people
            counts = round_.counts if people is None else people.without(np.zeros(0, dtype=np.int64))
        key = NoiseKey.fresh()
        saved, answer = Saved.start(key), None
        for _ in range(settings.release_every):
            running, answer = settings.mechanism.step(saved.running, counts)
            saved, _record = saved.after(running, Contributions.none(), digest)
        assert answer is not None  # after so many rounds a release is due
        saved.to_bytes()
        Release.from_bytes(released(settings, settings.release_every, answer).to_bytes())
    if name is not None:
        REHEARSED.add(name)
