"""`where=`, a condition on one row, and items that are computed, from an analyst whom nobody trusts.

The text is read by sqlglot in DuckDB's dialect, but never passed on. Three gates stand before an engine: every
*token* must be on a short list, every *node* of the parsed tree must be on another, and the tree must pass the
type checker, which writes a new one in which nothing can fail. What an engine gets is made from that new tree,
with all names quoted. Making a predicate touches no data, and a refusal says which piece was refused.

Column names match exactly, quoted or not. A row for which the predicate is NULL is dropped, and so is one whose
item is.

Importing this module imports sqlglot, so it is imported only where a predicate is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType, told
from unlisted.tables.predicate.checker import DATE_PARTS, PART_FUNCTIONS, TypeChecker
from unlisted.tables.predicate.dialects import render
from unlisted.tables.predicate.functions import CAST_WORDS, FUNCTION_NODES, FUNCTION_WORDS
from unlisted.tables.predicate.literals import MAX_INTEGER
from unlisted.tables.predicate.terms import Literal, Typed, Written, shown
from unlisted.tables.predicate.total import whole_number

__all__ = [
    "MAX_PREDICATE_DEPTH",
    "MAX_PREDICATE_LENGTH",
    "ColumnType",
    "Computed",
    "Predicate",
    "check_syntax",
    "parse_item",
    "parse_predicate",
]

MAX_PREDICATE_LENGTH = 10_000
"""Characters of a predicate."""

MAX_PREDICATE_DEPTH = 20
"""Parentheses, NOTs, signs and operators inside each other; a chain of ANDs or ORs counts once."""

_READER = Dialect.get_or_raise("duckdb")
_SIGNS = frozenset({"=", "==", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "(", ")", ","})
_WORDS = frozenset({"AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "ESCAPE", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"})
_PREFIXES = frozenset({"NOT", "+", "-"})
_MOMENTS = frozenset({"DATE", "TIMESTAMP"})
_FUNCTIONS = (DATE_PARTS - {"DOW", "DOY"}) | {"DAYOFWEEK", "DAYOFYEAR", "EXTRACT"} | FUNCTION_WORDS

_BINARY = frozenset({"this", "expression"})
_NODES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Column: frozenset({"this"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
    exp.Boolean: frozenset({"this"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this"}),
    exp.Paren: frozenset({"this"}),
    exp.Not: frozenset({"this"}),
    exp.Neg: frozenset({"this"}),
    **dict.fromkeys((exp.And, exp.Or, exp.Is, exp.Escape, exp.Add, exp.Sub, exp.Mul, exp.Mod), _BINARY),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    exp.Div: _BINARY | {"typed", "safe"},
    **dict.fromkeys((exp.Like, exp.ILike), _BINARY | {"negate"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Extract: _BINARY,
    exp.Var: frozenset({"this"}),
    **dict.fromkeys(PART_FUNCTIONS, frozenset({"this"})),
    **FUNCTION_NODES,
}
"""Every kind of node that may come out of the parser, with the arguments it may have."""


@dataclass(frozen=True)
class Predicate:
    """A checked condition on one row.

    `expression` is the checked tree, neutral between engines; `types` are the columns it reads.
    """

    text: str
    expression: exp.Expr
    types: Mapping[str, ColumnType] = field(compare=False)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns it reads."""
        return frozenset(self.types)

    def sql(self, dialect: str, text_collation: str | None = None) -> str:
        """Write it for one engine, with all names quoted.

        `text_collation` names the collation that compares text by its bytes, where an engine has others; every
        text column is then compared under it.
        """
        return render(self.expression, self.types, self.text, dialect, text_collation)


@dataclass(frozen=True)
class Computed:
    """A checked value that is computed from the columns of one row, of type `kind`; NULL where it cannot be."""

    text: str
    expression: exp.Expr
    kind: ColumnType
    types: Mapping[str, ColumnType] = field(compare=False)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns it reads."""
        return frozenset(self.types)

    def sql(self, dialect: str) -> str:
        """Write it for one engine, with all names quoted; a text compares by its bytes."""
        return render(self.expression, self.types, self.text, dialect, None, is_label=self.kind is ColumnType.TEXT)


def parse_predicate(text: str, schema: Mapping[str, ColumnType]) -> Predicate:
    """Read and check a predicate against the columns there are.

    Raises `InvalidArgumentError` for argument `where` on anything that is not allowed, and nothing else.
    """
    written = Written(text)
    try:
        checker = TypeChecker(written, schema)
        return Predicate(text, checker.condition(_admitted_tree(written, schema)), checker.used)
    except RecursionError:
        raise _too_deep(written) from None


def parse_item(text: str, schema: Mapping[str, ColumnType]) -> Computed | str:
    """Read and check an item against the columns there are: a value to compute, or the name of a column.

    Raises `InvalidArgumentError` for argument `item` on anything that is not allowed, and nothing else.
    """
    written = Written(text, "item")
    try:
        checker = TypeChecker(written, schema)
        tree = _admitted_tree(written, schema)
        term = checker.term(tree)
    except RecursionError:
        raise _too_deep(written) from None
    if isinstance(term, Literal) or not checker.used:
        raise written.refusal(f"{shown(tree)} names no column")
    if isinstance(term.node, exp.Column):
        return term.node.name
    return Computed(text, *_label(term), checker.used)


def _label(term: Typed) -> tuple[exp.Expr, ColumnType]:
    """Return a value as it is counted, and its type: a number that is never a fraction is a whole number."""
    if term.kind is ColumnType.INTEGER:
        return whole_number(term.node, MAX_INTEGER), ColumnType.INTEGER
    return (whole_number(term.node), ColumnType.INTEGER) if term.is_whole else (term.node, term.kind)


def check_syntax(text: str) -> None:
    """Refuse what is a predicate on no columns at all: for those who ask before there are rows.

    Whether the columns exist and what they hold is checked by `parse_predicate`, when they are known.
    """
    try:
        _admitted_tree(Written(text), None)
    except RecursionError:
        raise _too_deep(Written(text)) from None


def _admitted_tree(written: Written, schema: Mapping[str, ColumnType] | None) -> exp.Expr:
    """Return the parsed text, all of whose tokens and nodes are allowed; without a schema any word is a column."""
    if not isinstance(written.text, str):
        raise written.refusal("a predicate is a text")
    if len(written.text) > MAX_PREDICATE_LENGTH:
        raise written.refusal(f"a predicate has at most {MAX_PREDICATE_LENGTH} characters")
    tree = _parsed(_admitted_tokens(written, schema), written)
    _check_nodes(tree, written)
    return tree


def _admitted_tokens(written: Written, schema: Mapping[str, ColumnType] | None) -> list[Token]:
    """Read the tokens of the text, admit each, and mark the names of columns as such."""
    if "\0" in written.text or any("\ud800" <= sign <= "\udfff" for sign in written.text):
        raise written.refusal("it holds characters that are not text")
    try:
        tokens = _READER.tokenize(written.text)
    except SqlglotError:
        raise written.refusal("a quote is not closed") from None
    if not tokens:
        raise written.refusal("it is empty")
    gate = _TokenGate(written, schema, tokens)
    return [gate.admit(at) for at in range(len(tokens))]


@dataclass
class _TokenGate:
    """Admits tokens one by one, from left to right, and counts how deep they nest."""

    written: Written
    schema: Mapping[str, ColumnType] | None
    tokens: list[Token]
    open_levels: list[int] = field(default_factory=list)
    opened_by: list[str] = field(default_factory=list)
    depth: int = 0

    def admit(self, at: int) -> Token:
        """Return the token at this place, or raise the refusal."""
        token, word = self.tokens[at], self._written(at)
        if token.comments:
            raise self.written.refusal("comments are not allowed")
        self._count_depth(word, at)
        if token.token_type in (TokenType.STRING, TokenType.NUMBER) or word in _SIGNS or word in _WORDS:
            return token
        if self.opened_by[-1:] == ["CAST"] and "AS" in (word, self._written(at - 1)):
            return token if word == "AS" else self._type(token, word)
        if self._written(at + 1) == "(":
            if word not in _FUNCTIONS:
                raise self.written.refusal(f"`{self._shown(at)[:60]}` is not an allowed function")
            return token
        if token.token_type is TokenType.IDENTIFIER:
            return self._column(token.text, at)
        if word in _MOMENTS and self._is_string(at + 1):
            return token
        if self._written(at - 2) == "EXTRACT" and self._written(at - 1) == "(":
            if word not in DATE_PARTS:
                parts = ", ".join(sorted(part.lower() for part in DATE_PARTS))
                raise self.written.refusal(f"`{self._shown(at)[:60]}` is not a date part; those are {parts}")
            return token
        if word == "FROM" and self._written(at - 3) == "EXTRACT":
            return token
        return self._column(self._shown(at), at)

    def _type(self, token: Token, word: str) -> Token:
        if word not in CAST_WORDS:
            words = ", ".join(sorted(one.lower() for one in CAST_WORDS))
            raise self.written.refusal(f"`{word.lower()[:60]}` is no type; those are {words}")
        return token

    def _column(self, name: str, at: int) -> Token:
        if self.schema is None:
            if not any(sign.isalnum() for sign in name):
                raise self.written.refusal(f"`{name[:60]}` is not allowed here")
        elif name not in self.schema:
            listed = told(self.schema)
            why = f"`{name[:60]}` is neither a column nor allowed here; {listed[0].lower()}{listed[1:]}"
            raise self.written.refusal(why)
        token = self.tokens[at]
        # As a quoted name it is a column to the parser even where it would be a keyword.
        return Token(TokenType.IDENTIFIER, name, token.line, token.col, token.start, token.end)

    def _count_depth(self, word: str, at: int) -> None:
        if word == "(":
            self.open_levels.append(self.depth)
            self.opened_by.append(self._written(at - 1))
            self.depth += 1
        elif word == ")":
            self.depth = self.open_levels.pop() if self.open_levels else 0
            if self.opened_by:
                self.opened_by.pop()
        elif word in _PREFIXES:
            self.depth += 1
        if self.depth > MAX_PREDICATE_DEPTH:
            raise _too_deep(self.written)

    def _shown(self, at: int) -> str:
        # What stands in the text: for a string or a quoted name that is not what the token holds.
        return self.written.text[self.tokens[at].start : self.tokens[at].end + 1]

    def _written(self, at: int) -> str:
        return self._shown(at).upper() if 0 <= at < len(self.tokens) else ""

    def _is_string(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].token_type is TokenType.STRING


def _parsed(tokens: list[Token], written: Written) -> exp.Expr:
    try:
        trees = _READER.parser().parse_into(exp.Condition, tokens, written.text)
    except ParseError as error:
        near = error.errors[0].get("highlight") if error.errors else None
        raise written.refusal(f"it is not complete SQL near `{near}`" if near else "it is not SQL") from None
    if len(trees) != 1 or trees[0] is None:
        raise written.refusal("it is not a single condition")
    return trees[0]


def _check_nodes(tree: exp.Expr, written: Written) -> None:
    """Admit the tree only if every node and every argument of it is on the list, and none is too deep."""
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        allowed = _NODES.get(type(node))
        if allowed is None or any(value and name not in allowed for name, value in node.args.items()):
            raise written.refusal(f"`{node.sql(dialect='duckdb')[:60]}` is not allowed")
        if depth > MAX_PREDICATE_DEPTH:
            raise _too_deep(written)
        for child in node.iter_expressions():
            is_same_chain = isinstance(node, exp.Connector) and type(child) is type(node)
            stack.append((child, depth + (not is_same_chain and type(node) is not exp.Paren)))


def _too_deep(written: Written) -> InvalidArgumentError:
    return written.refusal(f"it nests deeper than {MAX_PREDICATE_DEPTH} levels")
