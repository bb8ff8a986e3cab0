"""The whole page as one text: markup, style, script and data, and nothing that is loaded from elsewhere."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from report_page.details import details
from report_page.devices import Device, devices
from report_page.error import ReportError
from report_page.markup import Markup, escaped, join, tag
from report_page.overview import overview
from report_page.plot import Json
from report_page.record import Record
from report_page.section import Section
from report_page.series import series
from report_page.words import plural

FOLDER = Path(__file__).parent / "assets"
SCRIPTS = ("start", "theme", "rows", "draw", "samples", "series", "tables", "copy", "print", "main")
MARK = "<!-- a report of ampgate -->"


def page(records: list[Record]) -> str:
    grouped = devices(records)
    several = len(records) > 1
    above = overview(grouped) if several else []
    title = plural(len(records), "record") if several else f"{records[0].model}, {records[0].day}"
    ours, drawing = script(), get_plotlyjs()
    shown = grouped[0].newest
    made = {record.digest: details(record) for record in records}
    parts = {
        "mark": MARK,
        "policy": policy(drawing, ours),
        "title": escaped(f"ampgate report: {title}"),
        "heading": escaped(title),
        "style": (FOLDER / "style.css").read_text(),
        "above": join([section.markup() for section in above]),
        "above_links": links(above),
        "chooser": chooser(grouped, shown) if several else "",
        "shown_links": Markup(made[shown.digest]["links"]),
        "shown_details": Markup(made[shown.digest]["html"]),
        "data": join([data(f"record-{digest}", one) for digest, one in made.items()]),
        "series": data("series", series(grouped)) if several else "",
        "shown": shown.digest,
        "plotly": drawing,
        "script": ours,
    }
    return Template((FOLDER / "page.html").read_text()).substitute(parts)


def policy(*scripts: str) -> str:
    """Scripts run by their digests alone: whatever else a text of a record might become, it is no script."""
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    rest = "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {rest}"


@cache
def script() -> str:
    parts = "\n".join((FOLDER / f"{name}.js").read_text() for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def links(sections: list[Section]) -> Markup:
    return join([tag("a", section.link, href=f"#{section.name}") for section in sections])


def data(name: str, value: Json) -> Markup:
    """Packed: 50 records are some 50 MB of text, and the page shows one of them at a time."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        problem = f"{name}: its numbers are so large that what is drawn of them has no end"
        raise ReportError(problem, "look for numbers near 1e308 in the record; none is measured") from error
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return Markup(f'<script type="application/octet-stream" id="{name}">{packed}</script>\n')


def chooser(grouped: list[Device], shown: Record) -> Markup:
    groups = [
        tag("optgroup",
            [tag("option", f"{device.label}: {record.day}, {record.id}", value=record.digest, selected=record is shown)
             for record in reversed(device.records)],
            label=device.label)
        for device in grouped
    ]  # fmt: skip
    return tag("label", "Details of ", tag("select", groups, id="choose-record"), class_="choose", id="details")
