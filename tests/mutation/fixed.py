"""The fixed list of mutants, those drawn at random, and those that are known to be equivalent."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.operators import GUARDS, Mutant, all_mutants, guarded_files, mutants_of

LIST = Path(__file__).parent / "fixed.json"
EQUIVALENT = Path(__file__).parent / "equivalent.json"

SHARES = {
    "privacy": 60,
    "noise": 75,
    "mechanisms": 100,
    "counts": 45,
    "tables": 60,
    "ledger": 60,
    "streams": 35,
    "server": 25,
}
"""How many mutants of each package the fixed list has."""

assert SHARES.keys() == GUARDS.keys()


@dataclass(frozen=True)
class Listed:
    """A mutant of the fixed list, and the tests it is tried on first."""

    mutant: Mutant
    tests: tuple[str, ...]


def key_of(said: dict[str, Any]) -> tuple[Any, ...]:
    """Return the name of a mutant as a list keeps it."""
    return tuple(said[name] for name in ("file", "function", "kind", "before", "after", "ordinal"))


def equivalents() -> dict[tuple[Any, ...], str]:
    """Return the mutants that change nothing anybody could see, with the reason."""
    return {key_of(one): one["why"] for one in json.loads(EQUIVALENT.read_text("utf-8"))}


def fixed() -> tuple[list[Listed], list[str]]:
    """Return the fixed list as it stands in the source today, and what of it is no longer there."""
    kept = json.loads(LIST.read_text("utf-8"))
    there = guarded_files()
    known = {
        mutant.key: mutant
        for file in dict.fromkeys(one["file"] for one in kept)
        if file in there
        for mutant in mutants_of(file)
    }
    found = [Listed(known[key_of(one)], tuple(one["tests"])) for one in kept if key_of(one) in known]
    gone = [
        f"{one['file']} {one['function']}: {one['kind']}, {one['before']!r}"
        for one in kept
        if key_of(one) not in known
    ]
    return found, gone


def keep(listed: Iterable[Listed]) -> None:
    """Write the fixed list, a mutant a line."""
    lines = [json.dumps({**one.mutant.as_dict(), "tests": list(one.tests)}, ensure_ascii=False) for one in listed]
    LIST.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def drawn(number: int, seed: int) -> list[Mutant]:
    """Return so many mutants, chosen and ordered by the seed, and spread over packages and kinds."""
    chance = random.Random(seed)
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in all_mutants():
        by_kind.setdefault(f"{mutant.package} {mutant.kind}", []).append(mutant)
    for group in by_kind.values():
        chance.shuffle(group)
    order = sorted(by_kind)
    chance.shuffle(order)
    found: list[Mutant] = []
    while len(found) < number and any(by_kind.values()):
        for name in order:
            if by_kind[name]:
                found.append(by_kind[name].pop())
    return found[:number]
