"""A tab that complains: of what the policy refuses, of errors of scripts, and of what the server cannot answer."""

from __future__ import annotations

from typing import Any

# Scripts that Playwright adds are not subject to the policy of the page.
REPORT = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`The policy refuses ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


class Watched:
    """A page of Playwright, and the ``troubles`` that were seen on it until now."""

    def __init__(self, page: Any, site: str) -> None:
        self.page = page
        self.site = site
        self.troubles: list[str] = []
        page.set_default_timeout(10_000)
        page.add_init_script(REPORT)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.note(f"A script raised {error}"))
        page.on("response", self._see)

    def open(self, address: str) -> None:
        self.page.goto(self.site + address)

    def press(self, role: str, name: str) -> None:
        """Press what a person would find under this name."""
        self.page.get_by_role(role, name=name, exact=True).click()

    def reads(self, text: str) -> None:
        """Wait until the page shows ``text``; fail if it does not."""
        self.page.get_by_text(text).first.wait_for()

    def note(self, trouble: str) -> None:
        self.troubles.append(f"{self.page.url}: {trouble}")

    def _hear(self, message: Any) -> None:
        # Which a browser asks every site for, and the admin has not.
        if message.type in {"error", "warning"} and not message.location["url"].endswith("/favicon.ico"):
            self.note(message.text)

    def _see(self, response: Any) -> None:
        if response.status >= 400 and not response.url.endswith("/favicon.ico"):
            self.note(f"{response.url} answered {response.status}")
