"""The door: a wrong key, a right one, out again; by keyboard alone; and what the cookie is."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.visitor import KINDS, Visitor

Open = Callable[..., Visitor]


def test_a_wrong_key_is_refused_and_a_right_one_taken(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"])
    window.complaints_expected("401")
    window.sign_in("ul_000000000000_" + "A" * 43)
    assert "not known here" in window.text("[role=alert]")
    window.sign_in()
    assert window.text("h1") == "Data sets"
    window.page.get_by_role("button", name="Sign out").click()
    window.go("/history")
    assert window.text("h1") == "Sign in"


def test_the_front_door_leads_to_the_console(visitor: Open) -> None:
    window = visitor(**KINDS["light"])
    window.page.goto(f"{window.site.url}/")
    assert window.text("h1") == "Sign in"


def test_the_keyboard_is_enough(visitor: Open) -> None:
    window = visitor(**KINDS["light"])
    window.go("/sign-in")
    keyboard = window.page.keyboard
    keyboard.press("Tab")
    assert focused(window) == "Skip to the content"
    keyboard.press("Enter")
    keyboard.press("Tab")
    keyboard.type(window.site.keys["analyst"])
    keyboard.press("Enter")
    window.page.wait_for_url("**/console/")
    for _ in range(20):
        keyboard.press("Tab")
        if focused(window).startswith("Ask"):
            break
    outline = window.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    keyboard.press("Enter")
    window.page.wait_for_url("**/ask")


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(visitor: Open) -> None:
    window = visitor(**KINDS["light"]).sign_in()
    (cookie,) = window.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert cookie["path"] == "/console"
    assert window.site.keys["analyst"] not in cookie["value"]
    assert window.page.evaluate("document.cookie") == ""


def test_another_site_cannot_send_a_form_in_a_visitor_s_name(visitor: Open) -> None:
    window = visitor(**KINDS["light"]).sign_in()
    before = window.site.charged()
    window.complaints_expected("403", "Sign in", "a request to")
    action = f"{window.site.url}/console/datasets/searches/answers"
    forged = f'<form method="post" action="{action}"><input name="item" value="query"></form>'
    window.page.goto(f"data:text/html,{forged}<script>document.forms[0].submit()</script>")
    window.page.wait_for_load_state()
    assert window.site.charged() == before


def focused(window: Visitor) -> str:
    found: str = window.page.evaluate("document.activeElement.innerText || document.activeElement.id")
    return found
