"""Records changed at random places: each makes a page, or is refused in words."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  (puts the scripts on the path)
import pytest
from made_records import Json, record, write
from report_page.details import details
from report_page.devices import devices
from report_page.error import ReportError
from report_page.page import data, page
from report_page.record import read_record
from report_page.series import series

NUMBERS = (0, -1, 10**18, 1e-300, 1e300, -1e300)
VALUES = (*NUMBERS, None, True, "", "nan", "-inf", "<b>", "a/b", [], {}, [[]], [1, "x"], {"a": 1})
CHANGES = 150


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Each container with each of its keys."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        found.append((value, key))
        places(member, found)
    return found


def change(made: Json, rng: random.Random) -> None:
    container, key = rng.choice(places(made, []))
    action = rng.randrange(3)
    if action == 0:
        del container[key]
    elif action == 1 and isinstance(container[key], int | float):
        container[key] = rng.choice(NUMBERS)
    else:
        container[key] = rng.choice(VALUES)


def test_a_page_or_a_reason(tmp_path: Path) -> None:
    made_pages, refusals = 0, 0
    for seed in range(CHANGES):
        rng = random.Random(seed)
        made = record(cases=1)
        change(made, rng)
        path = write(made, tmp_path / "given.json")
        try:
            one = read_record(path)
            data("record", details(one))
            data("series", series(devices([one])))
            made_pages += 1
        except ReportError as error:
            assert "given.json" in str(error) or "so large" in str(error)
            refusals += 1
    print(f"{CHANGES} changed records: {made_pages} pages, {refusals} refused")
    assert made_pages > 20
    assert refusals > 20


@pytest.mark.deep
def test_thousands_of_changes(tmp_path: Path) -> None:
    for seed in range(5_000):
        rng = random.Random(seed)
        made = record(cases=1, seed=seed)
        for _ in range(rng.randrange(1, 4)):
            change(made, rng)
        try:
            page([read_record(write(made, tmp_path / "given.json"))])
        except ReportError:
            continue
