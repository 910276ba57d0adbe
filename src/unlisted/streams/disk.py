"""Files that are there whole or not at all, whatever happens meanwhile.

Three things can be done to a stream's folder: a file is replaced, a journal is continued, the right to write is
taken. Replacing writes the new file beside the old one, makes it durable, renames it, and makes the renaming
durable. Continuing a journal cuts off what an interrupted attempt left behind its known end, appends and makes
that durable; nobody reads beyond the known end. Whatever goes wrong becomes a `StreamError` that says what to do.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unlisted.errors import StreamError

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
BESIDE = ".new"
"""What the name of a file ends with until it is complete."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_DIGEST_BYTES = 32
_BLOCK_BYTES = 1 << 20


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of another, durably: afterwards it is the one or the other, never a part."""
    rename_into_place(path, data)
    make_entries_durable(path.parent)


def rename_into_place(path: Path, data: bytes) -> None:
    """Replace a file but for the last step: it has the new contents, and a power cut may still undo that."""
    beside = path.with_name(path.name + BESIDE)
    with told("written"):
        try:
            with _opened(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
                _write_all(file, data)
                os.fsync(file)
            os.replace(beside, path)  # noqa: PTH105 - all steps are the operating system's own
        except OSError:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise


def continue_journal(path: Path, end: int, data: bytes) -> None:
    """Append durably behind the known end, where an interrupted attempt may have left something."""
    with told("written"), _opened(path, os.O_WRONLY) as file:
        os.ftruncate(file, end)
        os.lseek(file, end, os.SEEK_SET)
        _write_all(file, data)
        os.fsync(file)


def read_file(path: Path, most: int | None = None) -> bytes:
    """Read a file, or so many of its first bytes."""
    with told("read"), path.open("rb") as file:
        return file.read() if most is None else file.read(most)


def copy_parts(source: Path, target: Path, parts: Iterable[tuple[int, int]]) -> None:
    """Copy parts of a file, each from its start to its end, durably into a new one."""
    with told("written"), _opened(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as copy:
        for start, end in parts:
            with source.open("rb") as file:
                file.seek(start)
                while block := file.read(min(_BLOCK_BYTES, end - file.tell())):
                    _write_all(copy, block)
        os.fsync(copy)


def is_there(path: Path) -> bool:
    """Return whether there is a file."""
    with told("read"):
        return path.exists()


def make_entries_durable(folder: Path) -> None:
    """Make the names in a folder durable: a renamed file is safe only when its folder is."""
    with told("written"), _opened(folder, os.O_RDONLY) as entries:
        os.fsync(entries)


@contextmanager
def only_writer(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Be the only one who writes until the context ends; the operating system lets go of it if we die.

    With `wait`, whoever writes now is waited for.
    """
    try:
        import fcntl  # noqa: PLC0415 - Windows has none
    except ImportError:
        raise StreamError(
            "A stream needs the file locks of Linux or macOS, which this system does not have."
        ) from None
    with told("written"), _opened(path, os.O_RDWR | os.O_CREAT) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StreamError(
                "Another process or thread is writing to this stream. Wait until it is done, and push again; "
                "wait=True (--wait) does that by itself."
            ) from None
        yield


def sealed(kind: str, body: bytes) -> bytes:
    """Return a body with its kind and format version in front, and its checksum."""
    return b"".join((_head(kind), hashlib.sha256(body).digest(), body))


def unsealed(kind: str, data: bytes) -> bytes:
    """Return the body of what `sealed` made; refuse another format, a torn file, a changed bit."""
    head = _head(kind)
    if not data.startswith(head):
        known = data.startswith(head.rpartition(b" ")[0])
        why = "was written by another version of this program" if known else "is not what its name says"
        raise StreamError(f"The stream's {kind} {why}. {_RESTORE}")
    start = len(head) + _DIGEST_BYTES
    body = data[start:]
    if hashlib.sha256(body).digest() != data[len(head) : start]:
        raise StreamError(f"The stream's {kind} is torn or was changed: its checksum is wrong. {_RESTORE}")
    return body


_FORMAT = 1
_RESTORE = "Restore the folder from a copy; nothing was released or changed."


def _head(kind: str) -> bytes:
    return f"unlisted stream {kind} {_FORMAT}\n".encode()


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


@contextmanager
def _opened(path: Path, how: int) -> Iterator[int]:
    file = os.open(path, how | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Say what went wrong with a file, and what to do."""
    try:
        yield
    except OSError as failure:
        if failure.errno in _FULL:
            said = "The disk is full. Make room and push the round again; what was there before is still there."
        elif failure.errno in _FORBIDDEN:
            said = f"The stream's folder cannot be {what}: permission is missing, or it is read-only."
        elif failure.errno == errno.ENOENT:
            said = "There is no stream, or a file of it is missing. Create one, or restore the folder from a copy."
        else:
            said = f"The stream's folder cannot be {what}: {os.strerror(failure.errno or errno.EIO)}."
        raise StreamError(said) from None
