"""The peers' environments: one each, because they need other versions of NumPy, Arrow and Python than we do.

usage: python -m bench.peers [NAME…]        makes them (all without names) and prints what is in them

Nothing of a peer is ever installed beside `unlisted`. The versions are pinned to those that the scripts in
`peer_scripts/` were written for.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".venvs"
SCRIPTS = Path(__file__).resolve().parent / "peer_scripts"


@dataclass(frozen=True)
class Peer:
    """A library that does a part of what we do, and what it takes to run it."""

    name: str
    packages: tuple[str, ...]
    python_below: tuple[int, int] | None = None

    @property
    def python(self) -> Path:
        """The interpreter of its environment, whether it exists yet or not."""
        return FOLDER / self.name / "bin" / "python"

    @property
    def is_there(self) -> bool:
        """Whether `make bench-peers` has finished making its environment."""
        return (FOLDER / self.name / _FINISHED).exists()

    def command(self, script: str, *arguments: object) -> list[str]:
        """Return the command that runs one of the peers' scripts in this environment."""
        return [str(self.python), str(SCRIPTS / script), *map(str, arguments)]


_FINISHED = "finished"

OPENDP = Peer("opendp", ("opendp[polars]==0.16.0", "numpy>=2", "pyarrow>=20"))
# PyDP comes with PipelineDP: it is where PipelineDP's noise is from. Its last wheels are for Python 3.11, and the
# Arrow versions that still take NumPy 1 end before 20.
PIPELINEDP = Peer(
    "pipelinedp", ("pipeline-dp==0.3.1", "python-dp==1.1.5", "numpy<2", "scipy<1.15", "pyarrow<20"), (3, 12)
)
# It imports scikit-learn at its start, and a name in it that later versions no longer have.
DIFFPRIVLIB = Peer("diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.6"))
# It brings its own Spark, which needs a Java that is on the path.
TUMULT = Peer("tumult", ("tmlt.analytics==0.21.0", "numpy<2", "pandas<2", "pyarrow<20"), (3, 12))
ALL = (OPENDP, PIPELINEDP, DIFFPRIVLIB, TUMULT)


def make(peer: Peer) -> bool:
    """Make a peer's environment unless it is there; return whether it is there now."""
    if peer.is_there:
        return True
    python = _interpreter(peer)
    if python is None:
        print(
            f"{peer.name}: no Python below {'.'.join(map(str, peer.python_below or ()))} on this machine; left out"
        )
        return False
    folder = FOLDER / peer.name
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [python, "-m", "venv", str(folder)],
        [str(peer.python), "-m", "pip", "install", *peer.packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{peer.name}: could not be installed; left out\n{done.stderr.strip()}")
            return False
    (folder / _FINISHED).touch()
    return True


@cache
def installed(peer: Peer) -> dict[str, str]:
    """Return the version of every package in a peer's environment, pip and its kind left out."""
    listed = subprocess.run(
        [str(peer.python), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {one["name"]: one["version"] for one in json.loads(listed.stdout)}
    return {name: version for name, version in found.items() if name not in ("pip", "setuptools")}


def versions(peer: Peer) -> str:
    """Return what is installed in a peer's environment, in one line."""
    return ", ".join(f"{name} {version}" for name, version in installed(peer).items())


def _interpreter(peer: Peer) -> str | None:
    """Return this Python if it is old enough for the peer, else the newest on the path that is."""
    if peer.python_below is None or sys.version_info < peer.python_below:
        return sys.executable
    major, limit = peer.python_below
    names = (f"python{major}.{minor}" for minor in range(limit - 1, 8, -1))
    return next((found for name in names if (found := shutil.which(name))), None)


def main(names: list[str]) -> None:
    unknown = set(names) - {peer.name for peer in ALL}
    if unknown:
        sys.exit(f"No such peer: {', '.join(sorted(unknown))}. There are {', '.join(peer.name for peer in ALL)}.")
    for peer in ALL:
        if (not names or peer.name in names) and make(peer):
            print(f"{peer.name}: {versions(peer)}")


if __name__ == "__main__":
    main(sys.argv[1:])
