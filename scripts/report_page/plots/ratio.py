"""Speed over fp32 with its interval, by case and precision."""

from __future__ import annotations

from collections import Counter

from report_page.estimate import about
from report_page.look import SIGNS
from report_page.markup import bullets, plot_text, tag
from report_page.plot import Json, Plot, log_axis, offset
from report_page.plots.rows import precision_traces
from report_page.record import BASELINE, Record, Trial
from report_page.words import TIMES, plural


def ratio_plot(record: Record) -> Plot | None:
    """None where no trial has a speed over fp32."""
    trials = [trial for trial in record.judged if trial.precision != BASELINE]
    shown = [trial for trial in trials if trial.speedup]
    if not shown:
        return None
    closed = [trial for trial in trials if not trial.opens_gate]
    rows = [row for row in record.rows if any(trial.row == row for trial in shown + closed)]
    precisions = [name for name in record.precisions if any(trial.precision == name for trial in shown + closed)]
    traces = precision_traces(shown, rows, precisions, lambda trial: trial.speedup or {}, about)
    values = [value for trial in shown for value in (trial.speedup or {}).get("interval", [trial.speedup["value"]])]
    axis = log_axis([*values, 1.0], "speed over fp32; right of 1 is faster", TIMES)
    return Plot(
        "plot-ratio",
        "Speed over fp32, by case and precision",
        [*traces, *closed_words(closed, rows, precisions)],
        {"xaxis": axis, "line_at": 1},
        caption(shown, [trial for trial in trials if not trial.speedup and trial.opens_gate]),
        rows,
        len(precisions),
    )


def closed_words(trials: list[Trial], rows: list[tuple[str, str]], precisions: list[str]) -> list[Json]:
    """Where nothing was timed since the gate stayed shut: the verdict, in the place of the mark."""
    if not trials:
        return []
    slots = len(precisions)
    return [{
        "mode": "text",
        "showlegend": False,
        "x": [1] * len(trials),
        "y": [rows.index(trial.row) + offset(precisions.index(trial.precision), slots) for trial in trials],
        "text": [plot_text(f" {SIGNS[trial.verdict]} {trial.precision}: {trial.verdict}") for trial in trials],
        "textposition": "middle right",
        "textfont": {"size": 10, "color": "var(--text)"},
        "hoverinfo": "skip",
    }]  # fmt: skip


def caption(shown: list[Trial], left_out: list[Trial]) -> list[str]:
    unsure = sum("interval" not in (trial.speedup or {}) for trial in shown)
    lines = [
        f"{plural(len(shown), 'mark')}: the time of fp32 divided by the trial's, with its interval"
        + (f" ({unsure} have none)" if unsure else "")
    ]
    lines[0] += ". Round: pass; diamond: suspect; hollow: the measurement itself is ambiguous or below a target."
    reasons = Counter(trial.no_speedup_because for trial in left_out)
    listed = [f"{plural(count, 'trial')} not drawn: {reason}" for reason, count in reasons.most_common(4)]
    rest = sum(reasons.values()) - sum(count for _, count in reasons.most_common(4))
    if rest:
        listed.append(f"{plural(rest, 'more trial')} not drawn; the table of all trials says why")
    return [tag("p", lines), bullets(listed) if listed else None]
