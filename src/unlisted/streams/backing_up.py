"""A copy of a stream as it stands after some round, also while somebody pushes to it.

The state is read first. It says how many rounds there were and where the journal ended then. What lies before that
is never changed, so the copy is that of one moment. A copy is there whole or not at all, and is read before it
gets its name.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from unlisted.errors import InvalidArgumentError
from unlisted.streams.disk import (
    PRIVATE_FOLDER,
    copy_parts,
    is_there,
    make_entries_durable,
    read_file,
    replace_file,
    told,
)
from unlisted.streams.folder import PUBLISHED, Folder
from unlisted.streams.history import FOLDER
from unlisted.streams.saved import KNOWN, extent_of


def back_up(folder: Folder, to: Path, *, releases_only: bool) -> int:
    """Copy a stream to a new folder, and return how many rounds the copy has.

    With `releases_only` the copy has neither the key nor any count that was not released: it can be read, and that
    is all.
    """
    target = to.absolute()
    if target.exists():
        hint = "A copy never replaces anything. Give it a name with the date in it, for example."
        raise InvalidArgumentError("to", str(to), "a folder that does not exist yet", hint)
    if not target.parent.is_dir():
        hint = "Its parent folder does not exist. Create that first."
        raise InvalidArgumentError("to", str(to), "a new folder in one that exists", hint)
    if target.is_relative_to(folder.path.absolute()):
        raise InvalidArgumentError("to", str(to), "outside of the stream's own folder")
    with told("written"):
        beside = Path(tempfile.mkdtemp(prefix=".unlisted-", dir=target.parent))
    try:
        rounds = _copied(folder, beside, releases_only=releases_only)
        _require_readable(Folder(beside), rounds, releases_only=releases_only)
        with told("written"):
            beside.rename(target)
        make_entries_durable(target.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return rounds


def _copied(folder: Folder, to: Path, *, releases_only: bool) -> int:
    has_state = is_there(folder.path / "state")
    if has_state:
        state = read_file(folder.path / "state")
        rounds, end = extent_of(state)
    else:
        rounds = folder.round()
    with told("written"):
        to.chmod(PRIVATE_FOLDER)
        (to / FOLDER).mkdir(PRIVATE_FOLDER)
    for name in ("settings.json", "ledger.json"):
        if is_there(folder.path / name):
            replace_file(to / name, read_file(folder.path / name))
    folder.history_up_to(rounds).copy_to(to / FOLDER, rounds)
    if releases_only or not has_state:
        replace_file(to / PUBLISHED, json.dumps({"rounds": rounds}).encode())
        return rounds
    replace_file(to / "key", read_file(folder.path / "key"))
    if folder.settings.known is not None:
        replace_file(to / KNOWN, read_file(folder.path / KNOWN))
    copy_parts(folder.path / "journal", to / "journal", [(0, end)])
    replace_file(to / "state", state)
    make_entries_durable(to)
    return rounds


def _require_readable(copy: Folder, rounds: int, *, releases_only: bool) -> None:
    """Open the copy as its reader will: what is damaged is found now, while the original is there."""
    if not releases_only and is_there(copy.path / "state"):
        copy.saved(copy.settings, copy.key())
    copy.history_up_to(rounds)
