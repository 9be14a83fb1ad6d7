"""A Chromium of one process of a test run, for all of its tests: one takes a second of processor
time to start."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield Windows(launched)
        launched.close()


class Windows:
    """Pages of a browser: what one test closes, the next one opens, since a new page takes half a
    second of processor time."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self.free: list[Any] = []

    def new_page(self, viewport: dict[str, int] | None = None) -> Any:
        """A page with nothing in it, as playwright's."""
        viewport = viewport or {"width": 1280, "height": 720}
        if not self.free:
            return Window(self, self._browser.new_page(viewport=viewport))
        page = self.free.pop()
        page.set_viewport_size(viewport)
        return Window(self, page)


class Window:
    """One of these pages, until it is closed. ``own``: playwright's."""

    def __init__(self, windows: Windows, page: Any) -> None:
        self._windows, self.own = windows, page
        self._listeners: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    @property
    def url(self) -> str:
        """The page's own answer: playwright's waits for an event, which is late under load."""
        return self.own.evaluate("location.href")  # type: ignore[no-any-return]

    def on(self, event: str, listener: Any) -> None:
        """As playwright's."""
        self._listeners.append((event, listener))
        self.own.on(event, listener)

    def close(self) -> None:
        """Leave nothing of this test to the next."""
        page = self.own
        for event, listener in self._listeners:
            page.remove_listener(event, listener)
        page.goto("about:blank")
        page.mouse.move(0, 0)
        unset = ("media", "color_scheme", "reduced_motion", "forced_colors")
        page.emulate_media(**dict.fromkeys(unset, "null"))
        self._windows.free.append(page)
