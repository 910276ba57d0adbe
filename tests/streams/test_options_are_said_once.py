"""Python and the shell offer the options of a stream, all of them, with the same defaults."""

from __future__ import annotations

import inspect

from tests.cli.shell import unlisted

from unlisted.query.options import AMOUNTS, defaults_of, own_options
from unlisted.streams.question import StreamQuestion
from unlisted.streams.stream import Stream

OPTIONS = own_options(StreamQuestion)


def test_python_has_every_option_as_a_parameter_with_its_default() -> None:
    parameters = inspect.signature(Stream.create).parameters
    said = {name: one.default for name, one in parameters.items() if name not in ("path", "budget", "account")}
    # What must be said and is not is refused in words, by the option itself.
    assert said == {
        name: defaults_of(StreamQuestion).get(name, inspect.Parameter.empty if name == "rounds" else None)
        for name in OPTIONS
    }
    assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for name, one in parameters.items() if name != "path")


def test_help_explains_every_parameter_and_has_an_example() -> None:
    text = inspect.getdoc(Stream.create) or ""
    for name in inspect.signature(Stream.create).parameters:
        assert f"\n    {name}: " in text, name
    assert ">>> " in text


def test_the_shell_has_every_option() -> None:
    shown = unlisted("stream", "create", "--help").text
    for name in (*OPTIONS, *AMOUNTS):
        assert f"--{name.replace('_', '-')} " in shown, name
