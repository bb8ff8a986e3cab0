"""A page that was opened, and what the browser says of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

COUNT_MARKS = """plots => Object.fromEntries(plots.map((plot) => [
    plot.id, [...plot.querySelectorAll('.points path.point')].filter((one) => one.style.display !== 'none').length]))"""
PATIENCE_S = 240  # a machine that builds beside the tests is slow
DESKTOP = {"width": 1280, "height": 900}


@dataclass
class Opened:
    """`problems`: errors and warnings of the console, and exceptions."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(text)

    def until(self, function: str, argument: Any = None) -> None:  # noqa: ANN401
        """Playwright's own way of waiting needs eval, which the page's policy forbids."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.page.evaluate(function, argument):
            assert time.monotonic() < deadline, function
            self.page.wait_for_timeout(20)

    def settle(self) -> None:
        """Until nothing more is drawn."""
        self.until("() => performance.getEntriesByName('ready').length > 0")
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")

    def scroll_through(self) -> None:
        """Plots are drawn when they come near the view."""
        self.settle()
        height = self.page.evaluate("document.documentElement.scrollHeight")
        for top in range(0, height, 600):
            self.page.evaluate("top => scrollTo(0, top)", top)
            self.settle()

    def marks(self) -> dict[str, int]:
        return self.page.locator(".plot.js-plotly-plot").evaluate_all(COUNT_MARKS)

    def declared_marks(self) -> dict[str, int]:
        plots = "plots => Object.fromEntries(plots.map((plot) => [plot.id, Number(plot.dataset.marks)]))"
        return self.page.locator(".plot").evaluate_all(plots)

    def bars(self, plot: str) -> int:
        return self.page.locator(f"#{plot} .errorbar path").count()


@contextmanager
def opened(browser: Browser, path: Path, **settings: Any) -> Iterator[Opened]:  # noqa: ANN401
    with browser.new_context(**{"viewport": DESKTOP, **settings}) as context:
        context.set_default_timeout(1000 * PATIENCE_S)
        made = Opened(context.new_page())
        made.page.on("console", lambda said: made.hear(said.type, said.text))
        made.page.on("pageerror", lambda error: made.problems.append(str(error)))
        made.page.on("request", lambda request: made.requested.append(request.url))
        made.page.goto(path.as_uri())
        made.settle()
        yield made
