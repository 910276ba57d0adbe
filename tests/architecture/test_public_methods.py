"""What people call on the objects they hold says what each parameter is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import unlisted as ul

HELD = (
    ul.Budget,
    ul.EpsilonDelta,
    ul.Guarantee,
    ul.PayWhatYouGet,
    ul.Plan,
    ul.PrivateCounts,
    ul.PrivateTable,
    ul.Session,
    ul.Stream,
)
"""Classes of which all public methods are documented, parameter by parameter."""

CALIBRATIONS = (ul.ThresholdHistogram.for_budget, ul.TopHistogram.for_budget, ul.TopK.for_budget, ul.TopK.at)


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    for kind in HELD:
        for name in dir(kind):
            found = getattr(kind, name)
            if not name.startswith("_") and (inspect.isfunction(found) or inspect.ismethod(found)):
                yield f"{kind.__name__}.{name}", found
    yield from ((one.__qualname__, one) for one in CALIBRATIONS)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in ul.__all__:
        if inspect.isfunction(found := getattr(ul, name)):
            yield name, found


def unexplained(one: Callable[..., Any]) -> list[str]:
    """Return the parameters that have no line below `Args:`."""
    listed = (inspect.getdoc(one) or "").partition("Args:\n")[2]
    names = [name for name in inspect.signature(one).parameters if name != "self"]
    return [name for name in names if not re.search(rf"^    {name}: \S", listed, re.MULTILINE)]


@pytest.mark.parametrize(("name", "one"), [*functions(), *methods()])
def test_every_parameter_is_explained(name: str, one: Callable[..., Any]) -> None:
    assert unexplained(one) == [], name


def test_a_parameter_without_a_line_is_found() -> None:
    def told(one: int, other: int) -> None:
        """Say something.

        Args:
            one: what it is.
        """

    assert unexplained(told) == ["other"]
    assert len(list(methods())) > 40
    assert len(list(functions())) > 5
