"""What host and device said of themselves while phase 2 timed."""

from __future__ import annotations

from collections import Counter

from report_page.markup import Content, paragraph, tag
from report_page.plots.telemetry import device_plots, host_plots
from report_page.record import Record
from report_page.section import Section, absent
from report_page.table import Column, table
from report_page.words import plural


def telemetry_section(record: Record) -> Section:
    if not record.measures:
        because = "its run did not measure, and telemetry is taken beside times."
        return Section("telemetry", "Telemetry", "Telemetry", absent("Telemetry", because))
    of_host, of_device = host_plots(record), device_plots(record)
    device: Content = [plot.figure() for plot in of_device]
    if not of_device:
        because = f"{record.model} told no clock, temperature or power beside the samples. " + " ".join(reasons(record))
        device = absent("Clock, temperature and power of the device", because)
    host: Content = [plot.figure() for plot in of_host]
    if not of_host:
        host = absent("Load, clock probe and memory of the host", "its processes recorded no conditions.")
    content = [device, disturbed(record), tag("div", host, class_="pair")]
    return Section("telemetry", "Telemetry", "Telemetry", content, [*of_device, *of_host])


def reasons(record: Record) -> list[str]:
    """What measurements in sustained mode say of it."""
    told = Counter(
        f"{name}: {reason}."
        for trial in record.judged
        for name, reason in (trial.find("variants", "sustained", "sustained", "absent") or {}).items()
    )
    return list(told)


def disturbed(record: Record) -> Content:
    trials = [trial for trial in record.judged if trial.find("measurement", "disturbed")]
    if not trials:
        return paragraph("No block was disturbed, by the word of the counters beside each cell.")
    columns = [Column("trial"), Column("disturbed blocks", number=True), Column("left out of the numbers", number=True),
               Column("example", wide=True)]  # fmt: skip
    rows = []
    for trial in trials:
        found = trial.measurement["disturbed"]
        rows.append([trial.id, str(found["blocks"]), str(found["left_out"]), found["example"]])
    summary = tag("summary", f"Disturbed blocks, in {plural(len(trials), 'trial')}")
    return tag("details", summary, table("disturbed", columns, rows))
