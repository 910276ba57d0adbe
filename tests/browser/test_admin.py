"""What an admin does: accounts, keys and grants; and what becomes of a session when its key is revoked."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.browser.visitor import KINDS, Visitor

Open = Callable[..., Visitor]


def test_from_an_account_to_a_key_that_asks_and_is_revoked(visitor: Open) -> None:
    admin = visitor(**KINDS["no-script"]).sign_in("admin")
    admin.go("/budget")
    admin.page.get_by_role("link", name="Accounts, grants and keys").click()
    unfold(admin, "Open an account")
    admin.page.locator("#new-account").fill("interns")
    admin.page.locator("#new-dataset").select_option("searches")
    admin.page.locator("#new-loss").fill("0.1")
    admin.page.locator("#new-delta").fill("1e-6")
    admin.page.get_by_role("button", name="Open the account").click()
    assert "The account interns is open on searches." in admin.text()

    unfold(admin, "Make a key")
    admin.page.locator("#key-name").fill("Ines")
    admin.page.locator("#key-account").select_option("interns")
    admin.page.get_by_role("button", name="Make the key").click()
    key = admin.text(".once")
    assert re.fullmatch(r"ul_[0-9a-f]{12}_[\w-]{43}", key)
    admin.go("/admin")
    assert key not in admin.page.content()

    ines = visitor(**KINDS["light"]).sign_in(key)
    assert "searches" in ines.text()
    assert "clinic" not in ines.text()
    ines.go("/budget")
    assert "interns" in ines.text()
    assert "ads-searches" not in ines.text()

    unfold(admin, "Revoke Ines")
    admin.page.get_by_role("button", name="Revoke Ines for ever").click()
    assert "is revoked, for ever" in admin.text()
    ines.page.wait_for_timeout(1100)  # for a second a key that was accepted is not looked up again
    ines.go("/")
    assert "Sign in" in ines.text("h1")
    unfold(admin, "Close interns")
    admin.page.get_by_role("button", name="Close interns for ever").click()
    assert "The account interns is closed." in admin.text()


def test_grants_are_given_and_taken(visitor: Open) -> None:
    admin = visitor(**KINDS["no-script"]).sign_in("admin")
    admin.go("/admin")
    unfold(admin, "Grant a key a data set")
    otto = admin.page.locator("#grant-key option", has_text="Otto").get_attribute("value")
    admin.page.locator("#grant-key").select_option(otto)
    admin.page.locator("#grant-account").select_option("doctors")
    admin.page.get_by_role("button", name="Grant", exact=True).click()
    assert "may ask clinic; the account doctors pays" in admin.text()
    stranger = visitor(**KINDS["light"]).sign_in("stranger")
    assert "clinic" in stranger.text()
    admin.page.get_by_role("button", name="Withdraw clinic from Otto").click()
    stranger.page.wait_for_timeout(1100)
    stranger.go("/")
    assert "no grant for any data set" in stranger.text()


def test_what_is_refused_is_said(visitor: Open) -> None:
    admin = visitor(**KINDS["no-script"]).sign_in("admin")
    admin.go("/admin")
    admin.complaints_expected("422")
    unfold(admin, "Open an account")
    admin.page.locator("#new-account").fill("much")
    admin.page.locator("#new-loss").fill("-1")
    admin.page.locator("#new-delta").fill("1e-6")
    admin.page.get_by_role("button", name="Open the account").click()
    assert "rho" in admin.text("[role=alert]")


def test_an_analyst_does_not_get_there(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.complaints_expected("403")
    window.go("/budget")
    assert window.page.get_by_role("link", name="Accounts, grants and keys").count() == 0
    window.go("/admin")
    assert "Only an admin's key may do that." in window.text()


def unfold(window: Visitor, name: str) -> None:
    window.page.locator("summary", has_text=name).click()
