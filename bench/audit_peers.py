"""Do mechanisms of other libraries keep their promise? Our black box, on one of OpenDP's and two of diffprivlib's.

usage: python -m bench.audit_peers [RUNS]        4,000 without; `make bench-peers` makes the environments

A peer's mechanism runs in its own environment and says how often each output came up: that is all that an audit
needs of it. The claim is what the peer itself states for one user more or less.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

from bench.peers import DIFFPRIVLIB, OPENDP, Peer

from unlisted.audit.black_box import black_box
from unlisted.audit.events import plain
from unlisted.audit.subject import Output, Pair, Subject
from unlisted.privacy.convert import rho_of_epsilon_up
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

RUNS = 4000


def told(peer: Peer, script: str, data: Any, runs: int, *settings: object) -> dict[str, Any]:
    """Run a peer's mechanism and return what it promises and what came out."""
    command = peer.command(script, json.dumps(data), runs, *settings)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def subject(name: str, peer: Peer, pair: Pair, script: str, *settings: object) -> Subject:
    """Return a peer's mechanism as something to audit."""

    def batch(data: Any, runs: int) -> Counter[Output]:
        tally = told(peer, script, data, runs, *settings)["tally"]
        return Counter({plain(json.loads(output)): times for output, times in tally.items()})

    said = told(peer, script, pair.left, 1, *settings)
    direct = EpsilonDelta(Fraction(str(said["epsilon"])), Fraction(str(said["delta"])))
    claim = Guarantee(rho_of_epsilon_up(direct.epsilon), direct.delta, direct)
    return Subject(name, claim, lambda: [pair], lambda data: next(iter(batch(data, 1))), batch=batch)


def subjects() -> list[Subject]:
    """Return what is audited, of the peers that are there."""
    found = []
    if OPENDP.is_there:
        fresh = Pair("a label of one user", {}, {"x": 1})
        found.append(subject("OpenDP make_laplace_threshold", OPENDP, fresh, "opendp_tally.py", 1.0, 2))
    if DIFFPRIVLIB.is_there:
        more = Pair("one user more", 0, 1)
        for name in ("Geometric", "Laplace"):
            found.append(subject(f"diffprivlib {name}", DIFFPRIVLIB, more, "diffprivlib_tally.py", name, 1.0))
    return found


def main(runs: int) -> None:
    audited = subjects()
    if not audited:
        sys.exit("No peer is here. Run `make bench-peers` first.")
    for one in audited:
        found, claim = black_box(one, trials=runs), one.claim.direct
        print(
            f"{one.name}: claims ε = {float(claim.epsilon):g} at δ = {float(claim.delta):.4g}; "
            f"ε ≥ {float(found.epsilon):.3f} with confidence {float(found.confidence)}: "
            f"{'VIOLATED' if found.against else 'nothing found'}\n    {found.against or found.evidence[0]}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
