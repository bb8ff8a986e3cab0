"""Lines that do a trial again, to be copied."""

from __future__ import annotations

import shlex

from report_page.look import badge
from report_page.markup import Content, Markup, code, paragraph, tag
from report_page.record import Record, Trial
from report_page.section import Section
from report_page.table import Cell, Column, table


def reproducers_section(record: Record) -> Section:
    text = "The first line of a trial does it again as this record has it, and compares; the second needs no record."
    columns = [Column("trial"), Column("verdict", choices=True), Column("lines", wide=True)]
    rows = [
        [trial.id, Cell(badge(trial.verdict), choice=trial.verdict), lines(record, trial)] for trial in record.judged
    ]
    content: list[Content] = [paragraph(text), table("reproducers", columns, rows, filtered=True)]
    return Section("reproduce", "Reproduce", "Do it again", content, folded=True)


def lines(record: Record, trial: Trial) -> list[Markup]:
    from_record = shlex.join(["ampgate", "reproduce", record.file_name, trial.id])
    alone = trial.json.get("reproducer")
    return [copied(from_record), copied(alone) if alone else paragraph("The record has no line without itself.")]


def copied(line: str) -> Markup:
    return tag("div", code(line), tag("button", "Copy", type="button", class_="copy"), class_="line")
