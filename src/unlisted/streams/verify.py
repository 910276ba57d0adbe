"""Is a stream as it was written? Every file, every release, and whether they belong together."""

from __future__ import annotations

from collections.abc import Iterator

from unlisted.errors import StreamError
from unlisted.streams.disk import is_there
from unlisted.streams.folder import EXPOSED, PUBLISHED, Folder
from unlisted.streams.history import History


def problems_of(folder: Folder) -> Iterator[str]:
    """Yield what is wrong with a stream, a sentence each; nothing if it is in order."""
    is_copy = is_there(folder.path / PUBLISHED) and not is_there(folder.path / "state")
    if not is_copy:
        yield from _of_state(folder)
    try:
        rounds = folder.round()
        folder.stamp()
    except StreamError as reason:
        yield str(reason)
        return
    history = folder.history_up_to(rounds)
    yield from _of_releases(history, rounds, folder.settings.release_every)
    yield from _of_times(history, rounds)


def _of_state(folder: Folder) -> Iterator[str]:
    """Say what is wrong with the key, the state and the journal."""
    try:
        key = folder.key()
        if folder.key_is_exposed():
            yield EXPOSED
        folder.saved(folder.settings, key)
    except StreamError as reason:
        yield str(reason)


def _of_releases(history: History, rounds: int, every: int) -> Iterator[str]:
    for number in range(1, rounds + 1):
        if number % every:
            continue
        try:
            history.check(number)
        except StreamError as reason:
            yield str(reason)


def _of_times(history: History, rounds: int) -> Iterator[str]:
    before = None
    for number in range(1, rounds + 1):
        time = history.time(number)
        # What version 0.1 released has the time of its file, which a copy may have changed.
        if time is None or history.is_old(number):
            continue
        if before is not None and time < before:
            yield f"The time of round {number} is before that of the round before it."
        before = time
