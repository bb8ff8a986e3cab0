"""How large a page is, and how long 50 records take to open."""

from __future__ import annotations

from pathlib import Path

from browsing import opened
from conftest import page_of
from made_records import record
from playwright.sync_api import Browser
from plotly.offline import get_plotlyjs

MOST_BYTES = 3_000_000  # of a standard record, without the plotting script
STANDARD_CASES = 36  # with the model, the training and the bad one: as many trials as the standard suite


def test_size_of_a_standard_record(tmp_path: Path) -> None:
    page = page_of(tmp_path, record(cases=STANDARD_CASES))
    own = page.stat().st_size - len(get_plotlyjs().encode())
    print(f"a page of {STANDARD_CASES} cases is {own} bytes without the plotting script")
    assert own <= MOST_BYTES


def test_fifty_records(browser: Browser, tmp_path: Path) -> None:
    """Ten devices over five days. The time is printed; what must hold is that all is there."""
    made = [
        record(name="cuda:0", uuid=f"GPU-{device:08d}", model=f"Card {device % 4}", cases=STANDARD_CASES,
               started=f"2026-11-{day:02d}T00:00:00Z", seed=100 * device + day)
        for device in range(10)
        for day in range(10, 15)
    ]  # fmt: skip
    page = page_of(tmp_path, *made)
    with opened(browser, page) as one:
        times = one.page.evaluate("""() => ({
            loaded: performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
            first_paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
            all_drawn: performance.getEntriesByName('ready')[0].startTime})""")
        print(f"50 records: {page.stat().st_size / 1e6:.1f} MB; in ms: {times}")
        assert one.page.locator("#records tbody tr").count() == 50
        assert one.page.locator("#choose-record option").count() == 50
        assert one.page.locator("#side-by-side thead th").count() == 2 + 10
        assert one.problems == []
