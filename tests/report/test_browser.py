"""The page in a real browser: everything is drawn, and filters, choices and copying do what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Opened, opened
from conftest import page_of
from made_records import Json, record
from playwright.sync_api import Browser


@pytest.fixture
def one(browser: Browser, one_page: Path) -> Iterator[Opened]:
    with opened(browser, one_page) as page:
        yield page


@pytest.fixture
def several(browser: Browser, several_page: Path) -> Iterator[Opened]:
    with opened(browser, several_page) as page:
        yield page


def expected_marks(made: Json) -> dict[str, int]:
    """By plot, counted in the record."""
    trials = made["trials"]
    timed = [trial["measurement"] for trial in trials if "measurement" in trial]
    errors = [trial["accuracy"] for trial in trials if "accuracy" in trial]
    steps = [trial["training"] for trial in trials if "training" in trial]
    rungs = [rung for trial in trials for rung in trial.get("decisions", {}).get("boundary", {}).get("rungs", [])]
    processes = 2 * len(made["bench"]["processes"])
    hosts = ("load", "probe_ns", "steal_ns", "preemptions", "memory_available_bytes")
    return {
        "plot-ratio": sum("speedup_over_fp32" in one for one in timed),
        "plot-roofline": sum("roofline" in one for one in timed),
        "plot-share": sum("roofline" in one for one in timed),
        "plot-margin": sum("kernel_error" in one for one in errors),
        "plot-cost": sum("precision_cost" in one for one in errors),
        "plot-boundary": sum("flips" in rung for rung in rungs),
        "plot-training-0": sum(len(one["steps"]["loss"]) * (1 + one["scaler"]) for one in steps),
        "plot-samples": len(timed[0]["samples"]),
        **{f"plot-host-{name}": processes for name in hosts},
    }


def test_every_plot_is_drawn(one: Opened, one_record: Json) -> None:
    one.scroll_through()
    assert one.marks() == expected_marks(one_record)
    assert one.declared_marks() == expected_marks(one_record)
    assert one.bars("plot-ratio") == expected_marks(one_record)["plot-ratio"]
    assert one.bars("plot-roofline") == expected_marks(one_record)["plot-roofline"]
    assert one.problems == []


def test_nothing_is_loaded(one: Opened) -> None:
    one.scroll_through()
    assert one.requested == [one.page.url]


def test_failed_trials_are_named_in_the_plot(one: Opened) -> None:
    one.scroll_through()
    words = one.page.locator("#plot-ratio .textpoint").all_text_contents()
    assert [word.strip() for word in words] == ["∞ cast-fp16: nonfinite"]


@pytest.mark.parametrize(
    ("words", "choices", "expected"),
    [
        ("", {}, 27),
        ("classifier cast-fp16", {}, 9),
        ("CLASSIFIER  explained", {}, 9),
        ("no such words", {}, 0),
        ("", {"effect": "explained"}, 9),
        ("cast", {"effect": "explained", "input": "ordinary"}, 2),
        ("", {"trial": "classifier/64x64x64/fp32", "effect": "unchanged"}, 3),
    ],
)
def test_filter_of_decisions(one: Opened, words: str, choices: dict[str, str], expected: int) -> None:
    form = one.page.locator("form[data-table=decision-table]")
    form.locator(".find").fill(words)
    for name, value in choices.items():
        form.get_by_label(name, exact=False).and_(form.locator("select")).select_option(value)
    assert one.page.locator("#decision-table tbody tr:visible").count() == expected
    assert form.locator("output").text_content() == f"{expected} of 27 rows"
    form.locator(".find").press("Enter")  # reloads nothing
    assert form.locator("output").text_content() == f"{expected} of 27 rows"


def test_copy(one: Opened, one_record: Json) -> None:
    one.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    one.page.locator("#reproduce summary").click()
    buttons = one.page.locator("#reproducers button.copy")
    trials = one_record["trials"]
    assert buttons.count() == 2 * len(trials)
    lines = [f"ampgate reproduce record0.json {trials[3]['id']}", trials[3]["reproducer"]]
    for index, line in zip((6, 7), lines, strict=True):
        buttons.nth(index).click()
        said = "i => document.querySelectorAll('button.copy')[i].textContent === 'Copied'"
        one.until(said, index)
        assert one.page.evaluate("navigator.clipboard.readText()") == line


def test_copy_where_the_clipboard_is_kept_from_files(one: Opened, one_record: Json) -> None:
    one.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    one.page.locator("#reproduce summary").click()
    one.page.locator("#reproducers button.copy").first.click()
    one.until("() => document.querySelector('button.copy').textContent === 'Copied'")
    one.page.locator("form[data-table=reproducers] .find").click()
    one.page.keyboard.press("Control+V")
    pasted = one.page.locator("form[data-table=reproducers] .find").input_value()
    assert pasted == f"ampgate reproduce record0.json {one_record['trials'][0]['id']}"


def test_samples_of_another_trial(one: Opened, one_record: Json) -> None:
    one.scroll_through()
    identity = one_record["trials"][7]["id"]
    one.page.locator("#samples-trial").select_option(identity)
    one.settle()
    assert one.page.locator("#samples-caption").text_content() == f"21 of 21 samples of {identity}"
    assert one.marks()["plot-samples"] == 21


def test_every_link_leads_somewhere(one: Opened) -> None:
    links = one.page.locator("nav a").evaluate_all("links => links.map(link => link.getAttribute('href').slice(1))")
    assert len(links) == 18
    assert all(one.page.locator(f"#{name}").count() == 1 for name in links)
    ids = one.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    ours = [name for name in ids if name]
    assert len(ours) == len(set(ours))


def test_history(several: Opened, several_records: list[Json]) -> None:
    """The device with most records is shown first: three, of five precisions of its first case."""
    several.settle()
    assert several.marks()["plot-history"] == 3 * 5
    several.page.locator("#history-quantity").select_option("speedup")
    several.settle()
    assert several.marks()["plot-history"] == 3 * 4
    several.page.locator("#history-device").select_option("1")
    several.page.locator("#history-case").select_option("bad_case 64x64x64")
    several.page.locator("#history-quantity").select_option("margin")
    several.settle()
    assert several.marks()["plot-history"] == 2  # fp32 of two records; the other precision has no margin
    caption = several.page.locator("#plot-history-caption").text_content()
    assert caption == "2 marks. 2 results of these records have no margin and no mark."
    assert several.problems == []


def test_side_by_side(several: Opened) -> None:
    several.settle()
    several.page.locator("#side-precision").select_option("cast-bf16")
    several.settle()
    # Five cases on each of two devices, four on the third, each with its interval.
    assert several.marks()["plot-side"] == 14
    assert several.bars("plot-side") == 14
    assert several.page.locator("#side-by-side thead th").count() == 2 + 3
    row = several.page.locator("#side-by-side tbody tr", has_text="operator_3").first
    cells = row.locator("td").all_text_contents()
    assert [cell == "-" for cell in cells] == [False, False, False, True]  # the third device has three cases


def test_another_record(several: Opened, several_records: list[Json]) -> None:
    oldest = several_records[0]
    row = several.page.locator("#records tbody tr", has_text=oldest["id"])
    row.get_by_role("button", name="Show").click()
    says = "id => document.querySelector('#answer').textContent.includes(id)"
    several.until(says, oldest["id"])
    several.scroll_through()
    shown = {name: count for name, count in several.marks().items() if name not in ("plot-side", "plot-history")}
    assert shown == expected_marks(oldest)
    several.page.locator("#choose-record").select_option(index=0)
    several.until(says.replace("document", "!document"), oldest["id"])
    assert several.problems == []


def test_records_that_lack_almost_everything(browser: Browser, tmp_path: Path) -> None:
    made = record()
    del made["bench"], made["ceilings"], made["answer"], made["fingerprint"]
    made["trials"] = made["trials"][:1]
    (only,) = made["trials"]
    del only["measurement"], only["accuracy"]["kernel_error"], only["reproducer"]
    only["absent"] = {"measurement": "this run did not measure"}
    only["accuracy"]["absent"] = {"kernel_error": "nothing to compare"}
    with opened(browser, page_of(tmp_path, made)) as page:
        page.scroll_through()
        assert page.marks() == {}
        told = page.page.locator(".absent strong").all_text_contents()
        assert [one.removesuffix(": not here.") for one in told] == [
            "An answer in words", "Speed over fp32", "FP16 against BF16", "Roofline", "Distribution of errors",
            "Decisions", "Training", "Samples", "Telemetry", "Other modes", "Findings", "FP32 islands", "Workspaces",
            "Fingerprint",
        ]  # fmt: skip
        assert page.problems == []
