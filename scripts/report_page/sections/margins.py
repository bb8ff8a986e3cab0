"""The map of margins: cases by precisions, the verdict by sign and word, the margin by number and colour."""

from __future__ import annotations

import math

from report_page.look import SIGNS, tone
from report_page.markup import Content, Markup, paragraph, tag
from report_page.record import Record, Trial
from report_page.section import Section
from report_page.table import Cell
from report_page.words import Number, number

LEVELS = (0.01, 0.1, 0.5, 1.0, 10.0)  # a colour for each span between them, the last two beyond the limit


def margins_section(record: Record) -> Section:
    text = (
        "The margin is the error beyond the final rounding, divided by what the operator's bound allows: 1 is the "
        "limit. Colour shows the margin, sign and word the verdict. Hover over a cell for the reason."
    )
    return Section("margins", "Margins", "Margins and verdicts", [paragraph(text), legend(), heat_map(record)])


def legend() -> Markup:
    names = ["exact", "< 0.01", "0.01 to 0.1", "0.1 to 0.5", "0.5 to 1", "1 to 10", "> 10 or not finite"]
    swatches = [tag("li", tag("span", name, class_=f"swatch heat{level}")) for level, name in enumerate(names)]
    return tag("ul", swatches, class_="legend", aria_label="colours of margins")


def heat_map(record: Record) -> Markup:
    trials = {(trial.row, trial.precision): trial for trial in record.judged}
    head = [tag("th", name, scope="col") for name in ("case", *record.precisions)]
    rows = [
        tag("tr", tag("th", row[0], tag("small", row[1]), scope="row"),
            [cell(trials.get((row, precision))) for precision in record.precisions])
        for row in record.rows
    ]  # fmt: skip
    made = tag("table", tag("thead", tag("tr", head)), tag("tbody", rows), id="heat-map", class_="heat")
    return tag("div", made, class_="scroll", tabindex=0, role="region", aria_label="map of margins")


def cell(trial: Trial | None) -> Markup:
    if trial is None:
        return tag("td", tag("small", "not run"), class_="empty")
    shown = verdict_and_margin(trial)
    level = heat_level(trial.margin)
    return tag("td", shown.content, class_="empty" if level is None else f"heat{level}", title=shown.title)


def verdict_and_margin(trial: Trial) -> Cell:
    """Of a quality or a training no margin is known: the verdict alone."""
    sign = tag("span", SIGNS.get(trial.verdict, "?"), class_=f"sign {tone(trial.verdict)}", aria_hidden="true")
    words: list[Content] = [sign, " ", tag("span", trial.verdict, class_="verdict")]
    if trial.margin is not None:
        words.append(tag("span", number(trial.margin), class_="margin"))
    if trial.not_lowered:
        words.append(tag("small", "not lowered"))
    because = trial.reason or (f"no margin: {trial.why('accuracy', 'kernel_error')}" if trial.margin is None else "")
    judged = f"judged by: {trial.kernel_error.get('criterion', 'nothing by position')}"
    return Cell(words, title=". ".join(part for part in (trial.id, because, judged) if part))


def heat_level(margin: Number | None) -> int | None:
    if margin is None:
        return None
    if isinstance(margin, str) or not math.isfinite(margin):
        return len(LEVELS) + 1
    return 0 if margin == 0 else 1 + sum(margin >= level for level in LEVELS)
