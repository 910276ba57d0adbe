"""Somebody with a browser window: signs in, goes to pages, and notices what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from tests.browser.service import Site
from tests.server.running import PATIENCE_SECONDS, wait_until

PICTURES = Path(__file__).parents[2] / "artefacts" / "browser"

DESKTOP: dict[str, Any] = {"viewport": {"width": 1200, "height": 900}}
KINDS: dict[str, dict[str, Any]] = {
    "light": DESKTOP,
    "dark": {**DESKTOP, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "no-script": {**DESKTOP, "java_script_enabled": False},
}


class Visitor:
    """A window. `complaints` collects errors in scripts, refusals of the content policy, requests to strangers."""

    def __init__(self, context: Any, site: Site) -> None:
        self.context = context
        self.site = site
        self.complaints: list[str] = []
        self._expected: tuple[str, ...] = ()
        # After which something counts as not happening; no claim about how fast a machine is.
        context.set_default_timeout(1000 * PATIENCE_SECONDS)
        self.page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self._complain(f"error: {error}"))
        self.page.on("dialog", self._asked)
        self.page.on("request", self._sent)

    def complaints_expected(self, *words: str) -> None:
        """Say which complaints belong to the test: a browser tells its console of every refusal."""
        self._expected = words

    def go(self, path: str) -> None:
        """Open a page of the console."""
        self.page.goto(f"{self.site.url}/console{path}")

    def sign_in(self, who: str = "analyst") -> Visitor:
        """Sign in with one of the keys."""
        self.go("/sign-in")
        self.page.get_by_label("Key").fill(self.site.keys.get(who, who))
        self.page.get_by_role("button", name="Sign in").click()
        return self

    def ask(self, **fields: str) -> None:
        """Fill in the form of the page that is open, and send it for a preview as one without a script would."""
        for name, value in fields.items():
            self.page.locator(f"#{name}").fill(value)
        self.page.get_by_role("button", name="Preview").click()
        self.page.wait_for_load_state("load")  # with its style sheet, which decides what is seen

    def pay(self) -> None:
        """Spend."""
        self.page.get_by_role("button", name="Ask, for at most").click()
        self.page.wait_for_url("**/answers/*")

    def text(self, place: str = "main") -> str:
        """Return what a part of the page says."""
        said: str = self.page.locator(place).first.inner_text()
        return said

    def keep_picture(self, name: str) -> None:
        """Keep what the page looks like, for somebody to look at."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def is_too_wide(self) -> bool:
        """Return whether the whole page has to be moved sideways; tables and charts move inside their frames."""
        # A phone zooms out until all is in its window, so the window's own idea of its width is of no use.
        needed: int = self.page.evaluate("document.documentElement.scrollWidth")
        return needed > self.page.viewport_size["width"]

    def barriers(self) -> list[str]:
        """Return what keeps people with other eyes, ears or hands out, as axe finds it."""
        # What is busy is drawn pale, until it is there.
        drawn = "!document.querySelector('[aria-busy=true]') && document.getAnimations().length === 0"
        wait_until(lambda: self.page.evaluate(drawn))
        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._complain(f"{message.type}: {message.text}")

    def _asked(self, dialog: Any) -> None:
        self._complain(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _sent(self, request: Any) -> None:
        if not request.url.startswith(f"{self.site.url}/"):
            self._complain(f"a request to {request.url}")

    def _complain(self, what: str) -> None:
        if not any(word in what for word in self._expected):
            self.complaints.append(what)


def pay_for(window: Visitor, question: str, epsilon: str = "1") -> str:
    """Ask a question and return the path of its answer."""
    window.go("/datasets/searches/ask")
    window.page.locator(f"#question-{question}").check()
    window.ask(epsilon=epsilon)
    window.pay()
    path: str = window.page.url.partition("/console")[2]
    return path


def download(window: Visitor, name: str) -> bytes:
    """Take an answer home as a file."""
    with window.page.expect_download() as begun:
        window.page.get_by_role("link", name=name).click()
    content: bytes = begun.value.path().read_bytes()
    return content
