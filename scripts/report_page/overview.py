"""Several records: which they are, their devices side by side, and each device over time."""

from __future__ import annotations

from collections import Counter

from report_page import words
from report_page.devices import Device
from report_page.estimate import interval, median_time
from report_page.look import badge
from report_page.markup import Content, bullets, code, paragraph, tag
from report_page.record import Record, Trial
from report_page.section import Section, absent
from report_page.sections.answer import QUIET
from report_page.sections.recommended import NOT_MADE, TITLE
from report_page.sections.recommended import answer as recommended
from report_page.table import Cell, Column, table

MOST_ANSWERS = 6  # devices whose answers stand on top
COMPARED = (
    ("suite", ("plan", "suite")),
    ("seed", ("plan", "seed")),
    ("threads", ("plan", "settings", "threads")),
    ("rules", ("rules_sha256",)),
    ("LibTorch", ("environment", "worker", "libtorch")),
    ("build", ("environment", "worker", "build_id")),
)


def overview(devices: list[Device]) -> list[Section]:
    sections = [records_section(devices), recommended_section(devices), side_by_side_section(devices)]
    return [*sections, history_section(devices)]


def records_section(devices: list[Device]) -> Section:
    count = sum(len(device.records) for device in devices)
    text = f"{words.plural(count, 'record')} of {words.plural(len(devices), 'device')}, the newest of each first. "
    differing = [name for name, path in COMPARED if len({str(device.newest.find(*path)) for device in devices}) > 1]
    if differing:
        text += f"The newest records of the devices differ in {', '.join(differing)}: compare with that in mind."
    columns = [
        Column("device", choices=True),
        Column("details"),
        Column("started"),
        Column("record"),
        Column("trials", number=True),
        Column("verdicts"),
        Column("measured"),
        *(Column(name) for name, _ in COMPARED),
    ]
    rows = [record_row(device, record) for device in devices for record in reversed(device.records)]
    answers = [answer(device) for device in devices[:MOST_ANSWERS]]
    if len(devices) > MOST_ANSWERS:
        others = words.plural(len(devices) - MOST_ANSWERS, "more device")
        answers.append(paragraph(f"The answers of {others} stand in their details."))
    listed = table("records", columns, rows, filtered=True)
    content: list[Content] = [answers, tag("h3", "Records"), paragraph(text), listed]
    return Section("overview", "Overview", "The answers", content)


def answer(device: Device) -> Content:
    record = device.newest
    lines = record.find("answer")
    told = bullets(lines) if lines else paragraph("Its run made no answer in words.")
    return [tag("h3", device.label, tag("small", f"{record.day}, {record.id}")), tag("div", told, class_="answer")]


def record_row(device: Device, record: Record) -> list[Content | Cell]:
    verdicts = Counter(trial.verdict for trial in record.judged)
    outcomes = Counter(trial.measured for trial in record.judged if trial.measured)
    return [
        device.label,
        tag("button", "Show", type="button", class_="show-record", data_record=record.digest),
        tag("span", record.day, class_="unbroken"),
        tag("span", record.id, class_="unbroken"),
        str(len(record.judged)),
        counted(verdicts),
        counted(outcomes) or "-",
        *(shortened(record, *path) for _, path in COMPARED),
    ]


def counted(verdicts: Counter[str]) -> list[Content]:
    ordered = sorted(verdicts.items(), key=lambda item: item[0] not in QUIET)
    return [tag("span", badge(verdict), f" {count} ", class_="counted") for verdict, count in ordered]


def shortened(record: Record, *path: str) -> Cell:
    value = str(record.find(*path))
    return Cell(value if len(value) <= 12 else f"{value[:8]}…", title=value)


def recommended_section(devices: list[Device]) -> Section:
    """One column a device: what its newest record with the case speaks for."""
    records = [record for device in devices for record in reversed(device.records)]
    if all(record.choices is None for record in records):
        return Section("choices", "Recommended", TITLE, absent("Recommendations", NOT_MADE))
    cases = dict.fromkeys((entry["case"], entry["shape"]) for record in records for entry in record.choices or [])
    columns = [Column("case", choices=True), *(Column(device.label, choices=True, wide=True) for device in devices)]
    rows = [
        [Cell([case, tag("small", shape)], choice=case), *(choice_cell(device, case, shape) for device in devices)]
        for case, shape in cases
    ]
    text = " recommends by each device's newest record of the case. What each type costs stands in the details."
    shown = table("choices-by-device", columns, rows, filtered=True)
    content = [paragraph("What ", code("ampgate decide"), text), shown]
    return Section("choices", "Recommended", f"{TITLE}, device by device", content)


def choice_cell(device: Device, case: str, shape: str) -> Cell:
    found = device.newest_choice(case, shape)
    if found is None:
        return Cell("-", choice="not run")
    record, entry = found
    shown = [tag("strong", recommended(entry)), tag("small", entry["recommendation"]["in_words"])]
    return Cell(shown, choice=recommended(entry), title=f"{record.id}, {record.day}")


def side_by_side_section(devices: list[Device]) -> Section:
    """One column a device: the newest record of it that holds the trial."""
    ids = dict.fromkeys(
        trial.id for device in devices for record in reversed(device.records) for trial in record.judged
    )
    columns = [Column("trial"), Column("precision", choices=True)]
    columns += [Column(device.label, wide=True) for device in devices]
    rows = []
    for trial_id in ids:
        cells = [device.newest_with(trial_id) for device in devices]
        first = next(trial for found in cells if found for trial in [found[1]])
        rows.append(
            [Cell([first.case, tag("small", first.shape)], title=trial_id), first.precision, *map(side_cell, cells)]
        )
    text = "Each cell: verdict and margin, median time, speed over that device's own fp32. Each is from the device's "
    text += "newest record that holds the trial; hover to see which."
    content = [
        paragraph(text),
        chooser("side", "precision"),
        plot_place("plot-side"),
        table("side-by-side", columns, rows, filtered=True),
    ]
    return Section("side", "Side by side", "Devices side by side", content)


def side_cell(found: tuple[Record, Trial] | None) -> Cell | Content:
    if found is None:
        return "-"
    record, trial = found
    lines: list[Content] = [badge(trial.verdict), f" {words.number(trial.margin)}"]
    if trial.time:
        lines.append(tag("span", median_time(trial), class_="line-of-cell"))
    if trial.speedup:
        speed = f"{words.ratio(trial.speedup['value'])} ({interval(trial.speedup, words.ratio)})"
        lines.append(tag("span", speed, class_="line-of-cell"))
    return Cell(lines, title=f"{record.id}, {record.day}")


def history_section(devices: list[Device]) -> Section:
    text = "One device, case and quantity over time: a mark is a record, with its interval where it has one."
    content = [paragraph(text), chooser("history", "device", "case", "quantity"), plot_place("plot-history")]
    return Section("history", "History", "History of a device", content)


def chooser(name: str, *choices: str) -> Content:
    """Empty lists, which the script fills from the data of the series."""
    labels = [tag("label", f"{choice.capitalize()} ", tag("select", id=f"{name}-{choice}")) for choice in choices]
    return tag("div", labels, class_="choose")


def plot_place(name: str) -> Content:
    place = tag("div", class_="plot", id=name, role="img", aria_label=name.removeprefix("plot-"))
    return tag("figure", place, tag("figcaption", id=f"{name}-caption"))
