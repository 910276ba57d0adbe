"""Files that are written whole or not at all, without harm to what is no file."""

from __future__ import annotations

import os
from pathlib import Path

from unlisted.errors import InvalidArgumentError


def may_be_written(path: Path) -> bool:
    """Return whether a file can be put there; a pipe or a device is written to as it is."""
    try:
        target = path.resolve()
        if _is_special(target):
            return not target.is_dir() and os.access(target, os.W_OK)
        return target.parent.is_dir() and os.access(target.parent, os.W_OK)
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a zero byte
        return False


def require_writable(option: str, path: Path) -> None:
    """Refuse a file that cannot be put there, before anything is done for it."""
    if not may_be_written(path):
        raise InvalidArgumentError(option, str(path), "a file in a folder that can be written to")


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. A link stays a link, and what is no file is not replaced by one."""
    target = path.resolve()
    if _is_special(target):
        with target.open("wb") as stream:
            stream.write(data)
        return
    part = target.with_name(f".{os.urandom(8).hex()}.unlisted")
    try:
        with part.open("xb") as stream:
            stream.write(data)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()
