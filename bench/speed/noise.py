"""The speed of exact discrete noise, against NumPy's floats and against the peers' samplers.

usage: python -m bench.speed.noise

NumPy's floating-point noise is the limit and is not private: its low bits give counts away. The peers' columns are
there once `make bench-peers` has made their environments.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from bench.measure import Side, Target, interleaved, print_header, print_table, timed, times, told_by
from bench.peers import OPENDP, PIPELINEDP

from unlisted.noise.bits import fresh_bits
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import ExactLaw

SCALES = (10, 100, 1000)
DRAWS = 2_000_000
PEER_DRAWS = 10_000
ROUNDS = 5

LAWS: dict[str, Callable[[int], ExactLaw]] = {
    "Gaussian": lambda scale: DiscreteGaussian(Fraction(scale) ** 2),
    "Laplace": lambda scale: DiscreteLaplace(Fraction(scale)),
}
WHO = ("unlisted", "NumPy", "OpenDP", "PyDP")
CASES = [(law, scale) for law in LAWS for scale in SCALES]


def ours(law: str, scale: int) -> list[Side]:
    """Time many draws, and on its own the first one, for which a law builds its table."""
    warm = LAWS[law](scale)
    warm.sample(1, fresh_bits())
    return [
        timed(f"unlisted {law} {scale}", lambda: warm.sample(DRAWS, fresh_bits())),
        timed(f"first {law} {scale}", lambda: LAWS[law](scale).sample(1, fresh_bits())),
    ]


def numpys(law: str, scale: int) -> Side:
    rng = np.random.default_rng()
    draw = rng.normal if law == "Gaussian" else rng.laplace
    return timed(f"NumPy {law} {scale}", lambda: draw(0.0, scale, DRAWS))


def main() -> None:
    print_header("How many samples a second does exact discrete noise give?", ("numpy", "cryptography"))
    sides = [side for case in CASES for side in (*ours(*case), numpys(*case))]
    for peer, script in ((OPENDP, "opendp_noise.py"), (PIPELINEDP, "pydp_noise.py")):
        if peer.is_there:
            sides.append(told_by(peer.command(script, PEER_DRAWS, *SCALES)))
    seconds = interleaved(sides, ROUNDS)

    rows, against_numpy, against_opendp = [], {}, {}
    for law, scale in CASES:
        name = f"{law} {scale}"
        rates = {
            who: draws / seconds[f"{who} {name}"]
            for who, draws in (
                ("unlisted", DRAWS),
                ("NumPy", DRAWS),
                ("OpenDP", PEER_DRAWS),
                ("PyDP", PEER_DRAWS),
            )
            if f"{who} {name}" in seconds
        }
        against_numpy[name] = rates["NumPy"] / rates["unlisted"]
        if "OpenDP" in rates:
            against_opendp[name] = rates["unlisted"] / rates["OpenDP"]
        rows.append(
            [
                name,
                *(f"{rates[who]:,.0f}" if who in rates else "-" for who in WHO),
                times(against_numpy[name]),
                times(against_opendp[name]) if name in against_opendp else "-",
                f"{1000 * seconds[f'first {name}']:.0f} ms",
            ]
        )
    head = ("samples a second", "unlisted", "NumPy floats", "OpenDP", "PyDP")
    print_table((*head, "time : NumPy", "rate : OpenDP", "first draw"), rows)
    print(Target("at most 4x NumPy's time per sample", 4, at_most=True, measured=against_numpy).verdict())
    print(Target("at least 100x OpenDP's rate", 100, at_most=False, measured=against_opendp).verdict())


if __name__ == "__main__":
    main()
