"""Every small change to a source file that a test should notice: operators, directions, conditions, calls, SQL.

A mutant is one replacement of a few bytes. It is named by where it stands (file and function), what kind of change
it is, the text before and after, and which of several equal ones it is: not by a line number, so that a list of
mutants outlives edits elsewhere in the file.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "unlisted"

GUARDS = {
    "privacy": ("privacy",),
    "noise": ("noise",),
    "mechanisms": ("mechanisms",),
    "counts": ("counts",),
    "tables": ("tables",),
    "ledger": ("ledger",),
    "streams": ("streams",),
    "server": ("server/auth.py", "server/planning.py", "server/query_service.py", "server/limits.py"),
}
"""What guards privacy or money: whole packages, and of the server what decides who may do what."""

SHOWN_ONLY = {
    "privacy/survey.py": "the survey's formulas, which nothing calls",
    "noise/estimate.py": "floating point for charts",
    "ledger/display.py": "balances in words",
    "mechanisms/registry.py": "a list of names",
}
"""Files that decide nothing, with the reason."""

_SHOWN = re.compile(
    r"(_about$|^about|describe|accuracy|__str__|__repr__|half_width|survival|^chance|_said$|^_?said|reason|"
    r"^title|lowest_point|where_falling|^log_gaussian|normal_survival|_hidden$)"
)
"""Functions for display, and searches in floating point whose results are proved afterwards."""

_TUNING = re.compile(
    r"(SECONDS|_BLOCK|BLOCK_BYTES|AT_ONCE|PATIENCE|REMEMBERED|_CLOSE|_STEPS|_HAIRS|_SLACK$|maxsize|yield_per|"
    r"pool_size|_THRESHOLDS|_WIDEST)"
)
"""Constants on which only speed depends."""

_COMPARED: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=",)),
    ast.LtE: ("<=", ("<",)),
    ast.Gt: (">", (">=",)),
    ast.GtE: (">=", (">",)),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
}
_COMPUTED: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("+",)),
    ast.FloorDiv: ("//", ("*",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
}
_RENAMED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "math.ceil": "math.floor",
    "math.floor": "math.ceil",
    "np.minimum": "np.maximum",
    "np.maximum": "np.minimum",
    "decimal.ROUND_CEILING": "decimal.ROUND_FLOOR",
    "decimal.ROUND_FLOOR": "decimal.ROUND_CEILING",
}
_DIRECTED = ("round", "exp", "log", "sqrt", "power")
_OTHER_DIRECTION = '__import__("unlisted.privacy.rounding", fromlist=["rounding"]).{}'
_NOT_SWAPPED = {"isinstance", "getattr", "hasattr", "zip", "range", "min", "max", "Fraction", "print"}

_SQL = re.compile(r"\b(SELECT|WHERE|HAVING|GROUP BY|UNION|PRAGMA|BEGIN|IS NOT NULL|OVER \()")
_IN_SQL = (
    ("<=", r"(?<![<>=!-])<=", "<"),
    ("<", r"(?<![<>=!-])<(?![<>=])", "<="),
    (">=", r"(?<![<>=!-])>=", ">"),
    (">", r"(?<![<>=!-])>(?![<>=])", ">="),
    ("peers", r"COUNT\(\*\) OVER", "ROW_NUMBER() OVER"),
    ("rows", r"ROW_NUMBER\(\) OVER", "COUNT(*) OVER"),
    ("distinct", r"\bSELECT DISTINCT\b", "SELECT"),
    ("not exists", r"\bNOT EXISTS\b", "EXISTS"),
    ("and", r"\bAND\b", "OR"),
    ("union all", r"\bUNION ALL\b", "UNION"),
    ("least", r"\bLEAST\(", "GREATEST("),
    ("greatest", r"\bGREATEST\(", "LEAST("),
    ("not null", r"\bIS NOT NULL\b", "IS NULL"),
    ("desc", r" DESC\b", ""),
    ("min", r"\bMIN\(", "MAX("),
    ("max", r"\bMAX\(", "MIN("),
    ("inner", r"(?<!LEFT )\bJOIN\b", "LEFT JOIN"),
    ("durable", r"synchronous = FULL", "synchronous = OFF"),
    ("at once", r"BEGIN IMMEDIATE", "BEGIN"),
)


@dataclass(frozen=True)
class Mutant:
    """One change: where, of which kind, from what to what, and which of several equal ones."""

    file: str
    function: str
    kind: str
    before: str
    after: str
    ordinal: int
    line: int
    start: int
    end: int

    @property
    def key(self) -> tuple[str, str, str, str, str, int]:
        """What names it, wherever it has moved in its file."""
        return self.file, self.function, self.kind, self.before, self.after, self.ordinal

    @property
    def package(self) -> str:
        """Which guard it is of."""
        return self.file.split("/")[0]

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line} {self.function or 'module'}: {self.kind}, {self.before!r} -> {self.after!r}"
        )

    def as_dict(self) -> dict[str, object]:
        """Return what a list keeps of it."""
        return {name: value for name, value in asdict(self).items() if name not in ("line", "start", "end")}

    def applied(self) -> bytes | None:
        """Return the source with the change made; None if it says the same, or is no Python any more."""
        source = (PACKAGE / self.file).read_bytes()
        changed = source[: self.start] + self.after.encode() + source[self.end :]
        try:
            return None if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)) else changed
        except (SyntaxError, ValueError):
            return None


def guarded_files() -> list[str]:
    """Return the files that are mutated."""
    found = []
    for places in GUARDS.values():
        for place in places:
            path = PACKAGE / place
            found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    names = [path.relative_to(PACKAGE).as_posix() for path in found if path.name != "__init__.py"]
    return [name for name in names if name not in SHOWN_ONLY]


def mutants_of(file: str) -> list[Mutant]:
    """Return every mutant of a file, in its order."""
    source = (PACKAGE / file).read_bytes()
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    changes = {(one.start, one.end, one.after): one for one in _Changes(source).all()}
    for change in sorted(changes.values(), key=lambda one: (one.start, one.end, one.after)):
        before = source[change.start : change.end].decode()
        name = (change.function, change.kind, before, change.after)
        line = source[: change.start].count(b"\n") + 1
        found.append(
            Mutant(
                file,
                change.function,
                change.kind,
                before,
                change.after,
                seen[name],
                line,
                change.start,
                change.end,
            )
        )
        seen[name] += 1
    return found


def all_mutants() -> list[Mutant]:
    """Return every mutant of everything that is guarded."""
    return [mutant for file in guarded_files() for mutant in mutants_of(file)]


@dataclass(frozen=True)
class _Change:
    function: str
    kind: str
    start: int
    end: int
    after: str


class _Changes:
    """Walks a source once and says every change that could be made to it. Offsets are of bytes, as in `ast`."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def all(self) -> Iterator[_Change]:
        """Yield the changes, function by function."""
        yield from self._inside(ast.parse(self._source), "")

    def _inside(self, node: ast.AST, function: str) -> Iterator[_Change]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                if _SHOWN.search(child.name):
                    continue
                named = f"{function}.{child.name}" if function else child.name
                for part in (*child.args.defaults, *(one for one in child.args.kw_defaults if one), *child.body):
                    yield from self._at(part, named)
            elif isinstance(child, ast.ClassDef):
                yield from self._inside(child, f"{function}.{child.name}" if function else child.name)
            elif isinstance(child, ast.stmt) and not isinstance(child, ast.Import | ast.ImportFrom):
                yield from self._at(child, function)

    def _at(self, node: ast.AST, function: str) -> Iterator[_Change]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A function inside a function belongs to it.
            for part in node.body:
                yield from self._at(part, function)
            return
        if _is_text(node) or isinstance(node, ast.Raise) or self._is_tuning(node):
            # What an error says is read by people; documentation does nothing.
            return
        for kind, start, end, after in self._of(node):
            yield _Change(function, kind, start, end, after)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.AnnAssign) and child is node.annotation):
                yield from self._at(child, function)

    def _is_tuning(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return any(_TUNING.search(ast.unparse(target)) for target in targets)
        return isinstance(node, ast.keyword) and bool(node.arg and _TUNING.search(node.arg))

    def _of(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:  # noqa: PLR0912 - one case a kind
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                for first, op, second in zip((left, *others), ops, others, strict=False):
                    token, instead = _COMPARED[type(op)]
                    yield from self._between("comparison", first, second, token, instead)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED and not _of_texts(node):
                token, instead = _COMPUTED[type(op)]
                yield from self._between("arithmetic", left, right, re.escape(token), instead)
            case ast.BoolOp(op=op, values=values):
                word, other = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for first, second in pairwise(values):
                    yield from self._between("and/or", first, second, word, (other,))
                for place in range(len(values)):
                    rest = [self._text(one) for at, one in enumerate(values) if at != place]
                    yield "condition dropped", *self._span(node), f" {word} ".join(f"({one})" for one in rest)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "not dropped", *self._span(node), f"({self._text(operand)})"
            case ast.UnaryOp(
                op=ast.USub(),
                operand=ast.BinOp(op=ast.FloorDiv(), left=ast.UnaryOp(op=ast.USub()) as up, right=by),
            ):
                yield "rounding", *self._span(node), f"({self._text(up.operand)} // {self._text(by)})"
            case ast.Constant(value=bool(value)):
                yield "switch", *self._span(node), str(not value)
            case ast.Constant(value=int(value)):
                yield "constant", *self._span(node), str(value + 1)
                if value:
                    yield "constant", *self._span(node), str(value - 1)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield "condition", *self._span(test), "False"
                if not isinstance(node, ast.While):
                    yield "condition", *self._span(test), "True"
            case ast.comprehension(ifs=ifs):
                for one in ifs:
                    yield "condition", *self._span(one), "True"
            case ast.Expr(value=ast.Call() as call) if not _only_says(call):
                yield "call dropped", *self._span(call), "None"
            case ast.Call():
                yield from self._of_call(node)
            case ast.Attribute() if (name := ast.unparse(node)) in _RENAMED:
                yield "min/max" if "um" in name else "rounding", *self._span(node), _RENAMED[name]
            case ast.Constant(value=str()) | ast.JoinedStr():
                yield from self._of_sql(node)
            case _:
                pass

    def _of_call(self, node: ast.Call) -> Iterator[tuple[str, int, int, str]]:
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Name):
            if name in _RENAMED:
                yield "min/max", *self._span(node.func), _RENAMED[name]
            stem, _, side = name.rpartition("_")
            if stem in _DIRECTED and side in ("up", "down"):
                other = _OTHER_DIRECTION.format(f"{stem}_{'down' if side == 'up' else 'up'}")
                yield "rounding", *self._span(node.func), other
                if stem == "round" and node.args:
                    yield "rounding dropped", *self._span(node), f"({self._text(node.args[0])})"
        plain = [one for one in node.args if isinstance(one, ast.Name | ast.Attribute)]
        if name not in _NOT_SWAPPED and len(node.args) > 1 and plain[:2] == node.args[:2]:
            first, second = node.args[:2]
            if ast.dump(first) != ast.dump(second):
                (start, one_end), (other, end) = self._span(first), self._span(second)
                between = self._source[one_end:other].decode()
                yield "arguments swapped", start, end, f"{self._text(second)}{between}{self._text(first)}"

    def _of_sql(self, node: ast.expr) -> Iterator[tuple[str, int, int, str]]:
        start, end = self._span(node)
        text = self._source[start:end].decode("latin-1")
        if not _SQL.search(text):
            return
        # What stands in braces is Python.
        outside = re.sub(r"\{[^{}]*\}", lambda found: "\x00" * len(found[0]), text)
        for name, pattern, after in _IN_SQL:
            for found in re.finditer(pattern, outside):
                yield f"SQL {name}", start + found.start(), start + found.end(), after

    def _between(
        self, kind: str, first: ast.AST, second: ast.AST, token: str, instead: tuple[str, ...]
    ) -> Iterator[tuple[str, int, int, str]]:
        begin, stop = self._span(first)[1], self._span(second)[0]
        word = rf"\b{token}\b" if token[0].isalpha() else token
        found = re.search(word, self._source[begin:stop].decode("latin-1"))
        if found is not None:
            for other in instead:
                yield kind, begin + found.start(), begin + found.end(), other

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self._starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()


def _is_text(node: ast.AST) -> bool:
    """Return whether a statement is documentation."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_texts(node: ast.BinOp) -> bool:
    """Return whether an operation is on texts, lists or types rather than on numbers."""
    kinds = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.Set)
    return any(
        isinstance(one, kinds) or (isinstance(one, ast.Constant) and isinstance(one.value, str | bytes | None))
        for one in (node.left, node.right)
    )


def _only_says(call: ast.Call) -> bool:
    """Return whether a call only writes a log or raises for somebody to read."""
    return bool(re.search(r"(LOG|log|warn|debug|info|exception)\b", ast.unparse(call.func)))
