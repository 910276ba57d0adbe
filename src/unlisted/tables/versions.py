"""Installed packages that are older than what `unlisted` declares to work with."""

from __future__ import annotations

import platform
import re
from importlib import metadata

_BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?[^;]*?>=\s*([0-9][0-9.]*)")
"""A requirement as the metadata of a package writes it: a name, extras perhaps, and the lowest version."""


def too_old() -> list[str]:
    """Say which packages are too old and which versions would do; nothing where all is well or nobody knows."""
    return [
        f"{name} {there} is older than {lowest}, the lowest version that is supported: upgrade it"
        for name, lowest in lowest_versions().items()
        if (there := _installed(name)) is not None and parts(there) < parts(lowest)
    ]


def lowest_versions() -> dict[str, str]:
    """Return what the metadata of `unlisted` declares, extras included; nothing if it was never installed."""
    try:
        required = metadata.requires("unlisted") or []
    except metadata.PackageNotFoundError:
        return {}
    found = (_BOUND.match(one) for one in required)
    return {bound[1]: bound[2] for bound in found if bound is not None}


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with, no zeros at the end: 4.0.0 is 4, and 4.1.0.dev1 is 4.1."""
    numbers = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    found = [int(number) for number in numbers[0].split(".")] if numbers else []
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Return the versions of what took part in an answer."""
    from unlisted import __version__  # noqa: PLC0415 - the package's front door imports this module

    others = {name: metadata.version(name) for name in ("cryptography", "duckdb", "numpy", "pyarrow")}
    return {"unlisted": __version__, "python": platform.python_version(), **others}
