"""The samples behind a trial's median, for the trial that the reader chooses. The script draws them."""

from __future__ import annotations

from report_page.markup import Content, paragraph, tag
from report_page.record import Json, Record, Trial
from report_page.section import Section, absent
from report_page.words import plural

MOST_SAMPLES = 400  # that are kept of one trial


def samples_section(record: Record) -> Section:
    timed = [trial for trial in record.judged if trial.time and trial.measurement.get("samples")]
    if not timed:
        content: Content = absent("Samples", "this record has no times.")
        return Section("samples", "Samples", "Samples of one trial", content)
    options = [tag("option", trial.id, value=trial.id) for trial in timed]
    thinned = sum(len(trial.measurement["samples"]) > MOST_SAMPLES for trial in timed)
    text = "A sample is the mean time of one call over a cell; the line is the median, the band its interval. A cross "
    text += "marks a sample of a disturbed block that was left out of the numbers."
    if thinned:
        text += f" Of {plural(thinned, 'trial')} with more than {MOST_SAMPLES} samples every k-th is kept here; the "
        text += "record has all."
    place = tag("div", class_="plot", id="plot-samples", role="img", aria_label="samples of the chosen trial")
    content = [
        paragraph(text),
        tag("label", "Trial ", tag("select", options, id="samples-trial"), class_="choose"),
        tag("figure", place, tag("figcaption", id="samples-caption")),
    ]
    return Section("samples", "Samples", "Samples of one trial", content)


def samples_data(record: Record) -> Json:
    """By trial: rows of process, block, nanoseconds a call and whether the sample was left out."""
    return {trial.id: of_trial(trial) for trial in record.judged if trial.time and trial.measurement.get("samples")}


def of_trial(trial: Trial) -> Json:
    samples = trial.measurement["samples"]
    stride = -(-len(samples) // MOST_SAMPLES)
    rows = [[row[0], row[1], row[4] / row[3], int(left_out(row))] for row in samples[::stride]]
    time = trial.time or {}
    return {"rows": rows, "total": len(samples), "median": time["median"], "interval": time.get("interval")}


def left_out(row: list) -> bool:
    return len(row) > 5 and bool(row[5].get("left_out"))
