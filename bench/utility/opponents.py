"""The peers in the comparison at the same promise: each a process in its own environment, asked cell by cell."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.peer_scripts.scores import Told
from bench.peers import OPENDP, PIPELINEDP, TUMULT, Peer, installed
from bench.utility.promise_records import Setting


@dataclass(frozen=True)
class Opponent:
    """A peer in this comparison: the script that runs it, the package that names its version, how slow it is."""

    peer: Peer
    script: str
    package: str
    documented: int
    """The bound on items of a user in the example of its documentation that is nearest to this question."""
    runs: int | None = None
    """How many runs it gets at most; one that is given fewer is also asked at one budget only."""

    @property
    def is_there(self) -> bool:
        """Whether it can run here."""
        return self.peer.is_there and (self.peer is not TUMULT or shutil.which("java") is not None)

    @property
    def version(self) -> str:
        """The version of the package that is compared."""
        return installed(self.peer)[self.package]

    def released(self, setting: Setting, path: Path, runs: int) -> Told:
        """Ask for one cell, on the counts of a file."""
        process, said = _started(self)
        assert process.stdin is not None
        assert process.stdout is not None
        asked = [str(path), setting.epsilon, setting.delta, setting.items_per_user, min(runs, self.runs or runs)]
        print(json.dumps(asked), file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.script} on {asked} ended\n{Path(said.name).read_text(encoding='utf-8')}")
        told: Told = json.loads(line)
        return told


@cache
def _started(opponent: Opponent) -> tuple[subprocess.Popen[str], Any]:
    """Start a peer's script once; it ends with us, when its input does. What it says of itself goes to a file."""
    said = tempfile.NamedTemporaryFile()  # noqa: SIM115 - it is needed as long as the process
    command = opponent.peer.command(opponent.script)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said, text=True), said


OPPONENTS = {
    # Its guide to identifier truncation keeps ten rows of each user.
    "OpenDP": Opponent(OPENDP, "opendp_threshold.py", "opendp", 10),
    # All its examples on films bound a viewer to two; PyDP is the library underneath.
    "PipelineDP": Opponent(PIPELINEDP, "pipelinedp_threshold.py", "pipeline-dp", 2),
    "PyDP": Opponent(PIPELINEDP, "pydp_labels.py", "python-dp", 2),
    # Its tutorial counts the readers of a book with five books of each, and rows with twenty of each.
    "Tumult Analytics": Opponent(TUMULT, "tumult_groups.py", "tmlt.analytics", 5, runs=5),
}
