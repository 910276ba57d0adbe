"""What keeps the house readable, and where randomness may enter it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.source import functions, imported, modules, named, parameters, tree

MOST_LINES = 400
MOST_PARAMETERS = 6

INVENTS_DATA = {"demo/searches.py"}
"""May use a pseudo-random generator with a fixed start: for an invented table, never for noise."""

OPENS_THE_DOOR = {"noise/bits.py", "noise/keyed.py"}
"""May ask the operating system for the bits of noise."""

NAMES_THINGS = {
    "ledger/heartbeat.py": "names of processes",
    "cli/output.py": "names of files that are renamed once they are complete",
    "query/remote_table.py": "idempotency keys: names of requests",
    "server/console/ask.py": "idempotency keys: names of requests",
    "server/console/sessions.py": "secrets of sessions and forms, names of notes",
    "server/auth.py": "keys that are shown once and kept hashed",
    "server/sign_on/people.py": "sessions, and what a sign-in must bring back",
    "tables/engines/spark.py": "names of temporary views in a session that others use too",
}
"""May ask the operating system for bits that are names or passwords and never noise, with the reason."""

SOURCES_OF_BITS = ("os.urandom", "os.getrandom", "secrets", "ssl.RAND_bytes", "uuid.uuid4", "uuid.uuid1")
GENERATORS = ("random", "numpy.random")


def test_a_module_is_short_enough_to_read() -> None:
    lines = {named(path): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_a_module_says_what_it_is_for() -> None:
    assert [named(path) for path in modules() if not ast.get_docstring(tree(path))] == []


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert [named(path) for path in modules() if path.stem.strip("_") in drawers] == []


def test_a_function_has_few_parameters() -> None:
    """What is called by name may show every option that it has, in public; all else has few parameters."""
    counted = {
        (named(path), one.name): len(parameters(one))
        - (0 if one.name.startswith("_") else len(one.args.kwonlyargs))
        for path in modules()
        for one in functions(path)
    }
    assert {where: count for where, count in counted.items() if count > MOST_PARAMETERS} == {}


def test_no_function_or_field_is_a_seed() -> None:
    seeds = [
        (named(path), name)
        for path in modules()
        for name in (*(name for one in functions(path) for name in parameters(one)), *fields(path))
        if "seed" in name.lower()
    ]
    assert seeds == []


def test_assert_only_narrows_a_type() -> None:
    """`python -O` removes assertions, so none may refuse anything: they only tell the type checker what is so."""
    found = [
        f"{named(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Assert) and not narrows(node.test)
    ]
    assert found == []


def test_generators_are_for_invented_data_only() -> None:
    assert using(GENERATORS) - INVENTS_DATA == set()


def test_bits_enter_through_one_door() -> None:
    assert using(SOURCES_OF_BITS) - OPENS_THE_DOOR - set(NAMES_THINGS) == set()


def test_exceptions_are_still_needed() -> None:
    assert using(GENERATORS) >= INVENTS_DATA
    assert using(SOURCES_OF_BITS) >= OPENS_THE_DOOR | set(NAMES_THINGS)


def test_the_checks_see_what_they_should() -> None:
    assert _is_of("numpy.random.default_rng", GENERATORS)
    assert _is_of("random", GENERATORS)
    assert not _is_of("randomness", GENERATORS)
    assert {"os.urandom", "numpy.random.normal"} <= _named_in(
        ast.parse("import os as o, numpy as np\ndef f():\n    return o.urandom(1), np.random.normal()\n")
    )
    assert narrows(ast.parse("x is not None", mode="eval").body)
    assert narrows(ast.parse("isinstance(x, int)", mode="eval").body)
    assert not narrows(ast.parse("x > 0", mode="eval").body)


def narrows(test: ast.expr) -> bool:
    """Return whether a condition says no more than what type something has."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.IsNot) and isinstance(test.comparators[0], ast.Constant)
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"


def fields(path: Path) -> list[str]:
    """Return the names that a file annotates: fields of dataclasses among them."""
    nodes = (node for node in ast.walk(tree(path)) if isinstance(node, ast.AnnAssign))
    return [node.target.id for node in nodes if isinstance(node.target, ast.Name)]


def using(roots: tuple[str, ...]) -> set[str]:
    """Return the files that import or name something of these."""
    return {named(path) for path in modules() if any(_is_of(name, roots) for name in used(path))}


def used(path: Path) -> set[str]:
    """Return everything a file imports, and every dotted name it speaks, with short names written out."""
    return set(imported(path)) | _named_in(tree(path))


def _named_in(module: ast.Module) -> set[str]:
    """Return the dotted names in a syntax tree, with what `import a.b as c` abbreviates written out."""
    short = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    found = set()
    for node in ast.walk(module):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in short:
            found.add(".".join([short[inner.id], *reversed(parts)]))
    return found


def _is_of(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)
