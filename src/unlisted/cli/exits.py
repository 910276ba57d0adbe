"""What becomes of an error: one line on the standard error stream, and an exit code. Never a traceback.

Exit codes: 0 done; 1 an audit or a verification found a violation; 2 bad usage or input; 3 the budget refused;
4 failed or stopped after data was touched, and charged where an account pays; or nobody knows whether it was
booked. A shell's own: 130 interrupted before that, 141 nobody reads the answer.

Whoever pressed Ctrl-C knows the cause, and it says nothing of the data; so this one failure is told for what it
is. What was charged, the interrupt itself says.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from unlisted.errors import (
    BudgetRefusedError,
    ChargedFailureError,
    InvalidArgumentError,
    UncertainError,
    UnlistedError,
)
from unlisted.release.release import escaped
from unlisted.tables.failures import OWNER_LOG, causes_kept_in
from unlisted.tables.reading import HELP

BAD_INPUT, REFUSED, CHARGED, INTERRUPTED, UNREAD = 2, 3, 4, 130, 141

_TYPED = {"source": "SOURCE", "path": "DIR", "k": "-k", "number": "--round", "items": "--item", "to": "COPY"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("user", "item", "table", *HELP, "count", "rows_per_item", "items_per_user", "where", "adjacency"),
        *("epsilon", "rho", "delta", "per_item_epsilon", "noise", "fetch", "counts", "output", "chart", "receipt"),
        *(
            "ledger",
            "account",
            "dataset",
            "period",
            "results",
            "questions",
            "version",
            "idempotency_key",
            "failures",
        ),
        *("rounds", "items_per_event", "count_per_item", "unit", "rounds_per_user", "display", "release_every"),
        *("time", "every", "steady", "appears_at", "within", "by", "groups", "groups_per_user", "method"),
        *("with_totals", "other", "sum", "max_per_item", "min_per_item", "sum_unit"),
    )
}
_TYPED |= {"start": "--from", "end": "--to"}
"""How the library's arguments are typed in a shell."""


_NAMED = "|".join(sorted((name for name in _TYPED if "_" in name), key=len, reverse=True))
_SAID = re.compile(rf"(?<![\w-])(?:{_NAMED})(?![\w=])")
_SAID_WITH_VALUE = re.compile(rf"(?<![\w-])({'|'.join(_TYPED)})=([\w.-]+)")


class Verbs(TyperGroup):
    """The verbs of the command, each of which ends with one of the exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        with exits():
            return super().invoke(ctx)


@contextmanager
def exits() -> Iterator[None]:
    """Say an error in one line and leave with its code."""
    try:
        yield
        # A pipe that nobody reads or a full disk shows here, and not when Python shuts down.
        if sys.stdout is not None:
            sys.stdout.flush()
    except ChargedFailureError as failure:
        leave(str(failure), CHARGED, "" if _is_kept() else "No log was kept. To keep one: unlisted --log FILE …")
    except BudgetRefusedError as refusal:
        leave(str(refusal), REFUSED)
    except UncertainError as unknown:
        leave(str(unknown), CHARGED)
    except UnlistedError as refusal:
        *others, last = getattr(refusal, "problems", ()) or (refusal,)
        for other in others:
            _say(_as_typed(other))
        leave(_as_typed(last), BAD_INPUT)
    except BrokenPipeError:
        _read_by_nobody()
    except OSError as failure:
        # An answer that cannot be written says so itself; this is a file that a verb was given.
        leave(f"{failure.filename or 'the output'}: {failure.strerror or 'cannot be read or written'}", BAD_INPUT)
    except Exception as error:
        if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
            raise  # bad usage, or an exit that a verb asked for
        OWNER_LOG.exception("A verb failed in a way that nobody foresaw.")
        # Its message could quote anything, and whether data was touched is not known here.
        leave(f"an unforeseen {type(error).__name__}; take the question as charged; see the log", CHARGED)


def logging_to(file: Path | None) -> AbstractContextManager[None]:
    """Append the causes of failures to a file while a verb runs. They can quote rows."""
    return causes_kept_in(file, "--log")


def leave(message: str, code: int, hint: str = "") -> NoReturn:
    """End the program with a message and a code."""
    for line in filter(None, (message, hint)):
        _say(line)
    raise typer.Exit(code)


def _say(line: str) -> None:
    # Names of columns and files are whatever somebody called them.
    typer.echo(f"unlisted: {escaped(line)}", err=True)


def _as_typed(refusal: UnlistedError) -> str:
    """Name the option where the library names the argument."""
    text = str(refusal)
    if isinstance(refusal, InvalidArgumentError) and refusal.argument in _TYPED:
        text = _TYPED[refusal.argument] + text.removeprefix(refusal.argument)
    # Also where a hint speaks of another argument: `delta=1e-9`, `items_per_user`.
    text = _SAID_WITH_VALUE.sub(lambda found: f"{_TYPED[found[1]]} {found[2]}", text)
    return _SAID.sub(lambda found: _TYPED[found[0]], text)


def _read_by_nobody() -> NoReturn:
    """Leave quietly; what is still waiting to be written goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(UNREAD)


def _is_kept() -> bool:
    return any(not isinstance(handler, logging.NullHandler) for handler in OWNER_LOG.handlers)


@contextmanager
def stoppable() -> Iterator[None]:
    """Say that what runs inside was stopped with Ctrl-C, and what follows from that."""
    try:
        yield
    except KeyboardInterrupt as stop:
        said = getattr(stop, "__notes__", [])
        if not said:
            # It came before anything had begun.
            raise
        leave(" ".join(["stopped.", *said]), CHARGED)
