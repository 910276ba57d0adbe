"""Options that several verbs share, said once: a command takes dataclasses, the shell sees their fields.

Typer reads a command's options from its signature. `grouped` gives it the signature it wants, with every field of
every dataclass as an option of its own, and hands the command the dataclasses back, filled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for Typer whose dataclass parameters are spread into options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        group_hints = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=group_hints[field.name],
            )
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    # Positional arguments come first, whatever group they were in.
    arguments = [p for p in parameters if p.default is inspect.Parameter.empty]
    options = [p for p in parameters if p.default is not inspect.Parameter.empty]
    spread.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*arguments, *options)]
    )
    spread.__annotations__ = {p.name: p.annotation for p in parameters}
    return spread
