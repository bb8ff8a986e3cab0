"""How the tests make reports, and the browser that they open them in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from made_records import Json, record, write
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "report.py"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
sys.path.insert(0, str(SCRIPT.parent))


def report(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The program, as its launcher starts it."""
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def page_of(folder: Path, *records: Json, options: Sequence[str | Path] = ()) -> Path:
    """A report of these records, which go into files beside it."""
    paths = [write(one, folder / f"record{index}.json") for index, one in enumerate(records)]
    done = report(*paths, "--out", folder / "page.html", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "page.html"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for path in map(shutil.which, CHROMIUM) if path), None)
    if not found:
        pytest.skip("Chromium is not here and could not be installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found)
        yield started
        started.close()


@pytest.fixture(scope="session")
def one_record() -> Json:
    return record()


@pytest.fixture(scope="session")
def one_page(tmp_path_factory: pytest.TempPathFactory, one_record: Json) -> Path:
    return page_of(tmp_path_factory.mktemp("one"), one_record)


@pytest.fixture(scope="session")
def several_records() -> list[Json]:
    """Three of one device, two of another, one of a third that has the second's model."""
    days = ("2026-09-01", "2026-10-01", "2026-11-01")
    made = [record(started=f"{day}T08:00:00Z", seed=index) for index, day in enumerate(days)]
    made += [
        record(name="cuda:0", uuid="GPU-aaaaaaaaaa", model="Card", started=f"{day}T09:00:00Z", seed=10 + index)
        for index, day in enumerate(days[1:])
    ]
    return [*made, record(name="cuda:0", uuid="GPU-bbbbbbbbbb", model="Card", seed=20, cases=3)]


@pytest.fixture(scope="session")
def several_page(tmp_path_factory: pytest.TempPathFactory, several_records: list[Json]) -> Path:
    return page_of(tmp_path_factory.mktemp("several"), *several_records)
