"""Try mutants: the fixed list, or some drawn at random, and say which survived.

usage: python -m tests.mutation.run [--random N [--seed S]] [--package NAME…] [--page] [--draw]

Without options the fixed list. `--random` draws others by a seed that is printed. `--page` writes what came out to
docs/mutants.md. `--draw` fills the fixed list up with mutants that tests kill, after sources have changed; what
survives there is printed, for somebody to write a test or to say why it is equivalent. Leaves with 1 if a mutant
survived that is not known to be equivalent, or if a test that kills one fails without it.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from tests.mutation.covering import KEPT, Covering, measure
from tests.mutation.fixed import SHARES, Listed, drawn, equivalents, fixed, keep
from tests.mutation.operators import GUARDS, ROOT, Mutant
from tests.mutation.trial import Overlay, Verdict, overlay, tried

RESULTS, PAGE = ROOT / "docs" / "data" / "mutants.json", ROOT / "docs" / "mutants.md"
BEGIN, END = "<!-- mutants -->", "<!-- end of mutants -->"

Tried = tuple[Mutant, Verdict]


def covering() -> Covering:
    """Return which tests reach what, measured now if it was not yet."""
    if not KEPT.exists():
        measure()
    return Covering()


def trials(asked: Iterable[tuple[Mutant, list[str]]], on: Overlay) -> Iterator[Tried]:
    """Try mutants one by one, and say what became of each."""
    known = equivalents()
    for mutant, tests in asked:
        if mutant.key in known:
            continue
        verdict = tried(mutant, tests, on) if tests else Verdict("survived", said="no test reaches it")
        sys.stdout.write(f"{verdict.outcome}: {mutant}\n    {verdict.test} {verdict.said}\n")
        sys.stdout.flush()
        yield mutant, verdict


def controls(found: Iterable[Tried], on: Overlay) -> list[str]:
    """Run every test that killed something on the package as it is; return those that fail."""
    names = sorted({verdict.test.partition("[")[0] for _, verdict in found if verdict.outcome == "killed"})
    failing = []
    for start in range(0, len(names), 40):
        failing += [f"{one['test']}: {one['said']}" for one in on.run(names[start : start + 40])]
    return failing


def scored(found: Iterable[Tried], gone: int = 0) -> dict[str, Any]:
    """Return the score by package, and what survived."""
    found = list(found)
    known = Counter(str(key[0]).split("/")[0] for key in equivalents())
    packages = {}
    for package in GUARDS:
        outcomes = Counter(verdict.outcome for mutant, verdict in found if mutant.package == package)
        packages[package] = {**{name: outcomes[name] for name in ("killed", "crashed", "survived")}}  # type: ignore[index]
        packages[package]["equivalent"] = known[package]
    return {
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
        "packages": packages,
        "gone": gone,
        "survivors": [str(mutant) for mutant, verdict in found if verdict.outcome == "survived"],
    }


def table(score: dict[str, Any]) -> str:
    """Return a score as a table of Markdown."""
    lines = ["| package | killed | crashed | survived | score |", "|---|---:|---:|---:|---:|"]
    total: Counter[str] = Counter()
    for package, one in score["packages"].items():
        total.update({name: one[name] for name in ("killed", "crashed", "survived")})
        lines.append(_line(f"`{package}`", one))
    lines.append(_line("all", total))
    return "\n".join(lines)


def _line(name: str, one: dict[str, int] | Counter[str]) -> str:
    decided = one["killed"] + one["survived"]
    score = f"{100 * one['killed'] / decided:.1f} %" if decided else ""
    return f"| {name} | {one['killed']} | {one['crashed']} | {one['survived']} | {score} |"


def page(kept: dict[str, Any]) -> str:
    """Return the part of the page that is written here."""
    parts = []
    if "fixed" in kept:
        parts.append(f"**The fixed list**, {kept['fixed']['day']}:\n\n{table(kept['fixed'])}")
    if "random" in kept:
        one = kept["random"]
        parts.append(f"**Drawn at random**, {one['day']}, seed {one['seed']}:\n\n{table(one)}")
        if one["survivors"]:
            parts.append("Survivors of that draw:\n\n" + "\n".join(f"- `{said}`" for said in one["survivors"]))
    return "\n\n".join(parts)


def write_page(name: str, score: dict[str, Any]) -> None:
    """Keep a score, and write the page anew."""
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept[name] = score
    RESULTS.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page(kept)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def fill_up(seed: int, on: Overlay, packages: list[str]) -> list[Tried]:
    """Fill the fixed list up to its shares with mutants that are killed; return what survived on the way."""
    shares = {package: SHARES[package] for package in packages}
    known, reach = equivalents(), covering()
    listed, _ = fixed()
    have = Counter(one.mutant.package for one in listed)
    there = {one.mutant.key for one in listed}
    survived = []
    for mutant in drawn(20 * sum(SHARES.values()), seed):
        if have[mutant.package] >= shares.get(mutant.package, 0) or mutant.key in there or mutant.key in known:
            continue
        ((_, verdict),) = trials([(mutant, reach.tests_of(mutant))], on)
        if verdict.outcome == "killed":
            killer = verdict.test.partition("[")[0]
            others = [name for name in reach.tests_of(mutant) if name != killer]
            listed.append(Listed(mutant, (killer, *others[:3])))
            have[mutant.package] += 1
            keep(sorted(listed, key=lambda one: one.mutant.key))
        elif verdict.outcome == "survived":
            survived.append((mutant, verdict))
        if all(have[package] >= share for package, share in shares.items()):
            break
    return survived


def main() -> int:
    """Do what is asked, and return how to leave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--package", nargs="*", choices=list(GUARDS))
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--draw", action="store_true")
    asked = parser.parse_args()
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    with overlay() as on:
        if asked.draw:
            sys.stdout.write(f"seed {seed}\n")
            return int(bool(fill_up(seed, on, asked.package or list(GUARDS))))
        gone: list[str] = []
        if asked.random is None:
            listed, gone = fixed()
            chosen = [(one.mutant, list(one.tests)) for one in listed]
        else:
            sys.stdout.write(f"seed {seed}\n")
            reach = covering()
            known = equivalents()
            mutants = [one for one in drawn(3 * asked.random, seed) if one.key not in known][: asked.random]
            chosen = [(one, reach.tests_of(one)) for one in mutants]
        found = list(trials((one for one in chosen if not asked.package or one[0].package in asked.package), on))
        failing = controls(found, on)
    score = {**scored(found, len(gone)), "seed": seed}
    sys.stdout.write(f"\n{table(score)}\n")
    sys.stdout.writelines(f"no longer there, draw anew: {one}\n" for one in gone)
    sys.stdout.writelines(f"fails without a mutant: {one}\n" for one in failing)
    if asked.page:
        write_page("fixed" if asked.random is None else "random", score)
    return int(bool(failing) or any(verdict.outcome == "survived" for _, verdict in found))


if __name__ == "__main__":
    sys.exit(main())
