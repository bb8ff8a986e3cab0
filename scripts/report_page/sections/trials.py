"""All trials with their numbers, and what was measured in other modes."""

from __future__ import annotations

from report_page import words
from report_page.estimate import interval, median_time, rate
from report_page.look import badge
from report_page.markup import Content, tag
from report_page.record import Json, Record, Trial
from report_page.section import Section, absent
from report_page.table import Cell, Column, table


def trials_section(record: Record) -> Section:
    columns = [
        Column("trial"),
        Column("precision", choices=True),
        Column("verdict", choices=True),
        Column("margin", number=True),
        Column("largest error", number=True),
        Column("ULP", number=True),
        Column("mean signed error", number=True),
        Column("RMS against fp32", number=True),
        Column("repeatable", choices=True),
        Column("median time", number=True),
        Column("rate, of ceiling", number=True),
        Column("speed over fp32", number=True),
        Column("peak memory", number=True),
        Column("measurement", choices=True),
    ]
    rows = [trial_row(trial) for trial in record.judged]
    content: list[Content] = [
        table("all-trials", columns, rows, filtered=True),
        tag("h3", "Other modes"),
        modes(record),
    ]
    needless = len(record.trials) - len(record.judged)
    if needless:
        text = f"{words.plural(needless, 'trial')} with FP32 islands not listed: autocast alone passed."
        content.insert(1, tag("p", text))
    return Section("trials", "Trials", "All trials", content)


def trial_row(trial: Trial) -> list[Content | Cell]:
    error = trial.kernel_error
    speed = words.ratio(trial.speedup["value"]) if trial.speedup else "-"
    time_title = interval(trial.time, words.time) if trial.time else trial.why("measurement", "time_ns")
    peak = words.data_size(trial.peak_bytes) if trial.peak_bytes is not None else "-"
    return [
        Cell([trial.case, tag("small", trial.shape)], title=trial.id),
        Cell([trial.precision, tag("small", "not lowered") if trial.not_lowered else None], choice=trial.precision),
        Cell(badge(trial.verdict), choice=trial.verdict, title=trial.reason or None),
        Cell(words.number(trial.margin), title=margin_title(trial)),
        words.number(error.get("max_abs_error")),
        str(error.get("max_ulp", "-")),
        words.number(error.get("mean_signed_error")),
        words.number(trial.precision_cost.get("relative_rms_error")),
        repeatable(trial),
        Cell(median_time(trial), title=time_title),
        rate(trial),
        Cell(speed, title=interval(trial.speedup, words.ratio) if trial.speedup else trial.no_speedup_because),
        Cell(peak, title=None if trial.peak_bytes is not None else trial.why("measurement", "memory", "peak_bytes")),
        measured(trial),
    ]


def margin_title(trial: Trial) -> str:
    error = trial.kernel_error
    if not error:
        return trial.why("accuracy", "kernel_error")
    return f"{error['criterion']}, output {error['output']}, at {error.get('position', [])}"


def repeatable(trial: Trial) -> str:
    """Bit by bit, in one process and over several."""
    inside = trial.find("accuracy", "repeatable_in_process")
    across = trial.find("accuracy", "repeatable_across_processes")
    if inside is None:
        return "-"
    return "yes" if inside and across is not False else "no"


def measured(trial: Trial) -> Cell:
    if trial.measured is None:
        return Cell("-", title=trial.why("measurement"))
    notes = [trial.measurement["reason"], *trial.measurement.get("notes", [])]
    return Cell(badge(trial.measured), choice=trial.measured, title=". ".join(note for note in notes if note) or None)


def modes(record: Record) -> Content:
    variants = [(trial, mode, one) for trial in record.judged for mode, one in trial.json.get("variants", {}).items()]
    if not variants:
        modes_asked = record.find("plan", "schedule", "extra_modes") or []
        because = "its run was not asked for any (--cold, --latency, --sustained, --default-malloc)."
        return absent("Other modes", because if not modes_asked else "none came to a time.")
    columns = [Column("trial"), Column("mode", choices=True), Column("median time", number=True),
               Column("speed over fp32", number=True), Column("measurement"), Column("more", wide=True)]  # fmt: skip
    rows = []
    for trial, mode, measurement in variants:
        same = Trial({**trial.json, "measurement": measurement})
        speed = words.ratio(same.speedup["value"]) if same.speedup else "-"
        rows.append([trial.id, mode, median_time(same), speed, measured(same), detail(measurement)])
    return table("other-modes", columns, rows, filtered=True)


def detail(measurement: Json) -> str:
    """What the mode was measured for."""
    parts = []
    if "latency" in measurement:
        latency = measurement["latency"]
        names = [name for name in ("p50_ns", "p90_ns", "p99_ns") if name in latency]
        told = [f"{name[:3]} {words.time(latency[name]['value'])}" for name in names]
        parts.append(f"{', '.join(told)} of {latency['calls']} calls")
    if "sustained" in measurement:
        sustained = measurement["sustained"]
        against = words.ratio(sustained["steady_to_first"])
        parts.append(f"after {sustained['time_s']:.1f} s {against} the time of its first tenth")
        for name, unit in (("clock_mhz", "MHz"), ("temperature_c", "°C"), ("power_w", "W")):
            if name in sustained:
                course = sustained[name]
                parts.append(f"{course['first']:.4g} to {course['last']:.4g} {unit}")
        if "energy_per_call_j" in sustained:
            parts.append(f"{sustained['energy_per_call_j']:.3g} J a call")
        parts += [f"{name}: {reason}" for name, reason in sustained.get("absent", {}).items()]
    return "; ".join(parts)
