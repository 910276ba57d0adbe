"""Every page, in every kind of window: it is there, it says its name, it fits, and nobody is kept out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.browser.visitor import KINDS, Visitor, pay_for

PAGES = {
    "sign-in": ("/sign-in", "Sign in"),
    "data-sets": ("/", "Data sets"),
    "ask": ("/datasets/searches/ask", "Ask searches"),
    "history": ("/history", "History"),
    "budget": ("/budget", "Budget"),
    "admin": ("/admin", "Accounts, grants and keys"),
    "streams": ("/streams", "Streams"),
    "stream": ("/streams/dishes", "dishes"),
    "not-found": ("/datasets/nothing/ask", "Not Found"),
}


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """Where the answers are that the first window paid for."""
    return {}


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_can_be_used(kind: str, visitor: Callable[..., Visitor], answers: dict[str, str]) -> None:
    window = visitor(**KINDS[kind]).sign_in("admin")
    window.complaints_expected("404")
    pages = dict(PAGES)
    if not answers:
        kinds = {"counts": "histogram", "ranking": "top", "values": "labels"}
        answers |= {name: pay_for(window, question) for name, question in kinds.items()}
    pages |= {f"answer-{name}": (path, "query") for name, path in answers.items()}
    for name, (path, heading) in pages.items():
        window.go(path)
        assert heading in window.text("h1")
        window.keep_picture(f"{name}-{kind}")
        if kind != "no-script":  # a window without scripts cannot run ours either
            assert not window.is_too_wide(), name
            assert window.barriers() == [], name


def test_the_check_for_barriers_finds_one(visitor: Callable[..., Visitor]) -> None:
    window = visitor(**KINDS["light"])
    window.go("/sign-in")
    window.page.evaluate("document.querySelector('label').remove()")
    assert any(one.startswith("label: ") for one in window.barriers())
    window.page.evaluate("document.querySelector('h1').style.width = '3000px'")
    assert window.is_too_wide()
