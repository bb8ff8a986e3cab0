"""How errors are distributed over the trials of a record: one mark a trial, sorted, with its share of all trials."""

from __future__ import annotations

from collections.abc import Callable

from report_page.look import plot_shape, precision_colour
from report_page.plot import Json, Plot, hover, log_axis
from report_page.record import BASELINE, Record, Trial
from report_page.words import Number, finite, number, plural

Value = Callable[[Trial], Number | None]


def margin_plot(record: Record) -> Plot | None:
    title = "Margins: the error as a share of what the bound allows"
    axis = "margin; 1 is the limit"
    return distribution(record, "plot-margin", title, axis, record.precisions, lambda trial: trial.margin, 1)


def cost_plot(record: Record) -> Plot | None:
    """What a precision does to the result, whoever is to blame for it."""
    title = "Cost of precision: relative RMS difference from the fp32 result"
    axis = "relative RMS difference from fp32"
    precisions = [name for name in record.precisions if name != BASELINE]
    value: Value = lambda trial: trial.precision_cost.get("relative_rms_error")  # noqa: E731
    return distribution(record, "plot-cost", title, axis, precisions, value, None)


def distribution(
    record: Record, name: str, title: str, axis: str, precisions: list[str], value: Value, line: float | None
) -> Plot | None:
    traces = []
    zeros, odd = 0, 0
    for precision in precisions:
        trials = [trial for trial in record.judged if trial.precision == precision and value(trial) is not None]
        exact = sum(value(trial) == 0 for trial in trials)
        positive = sorted((trial for trial in trials if (finite(value(trial)) or 0) > 0), key=value)
        zeros += exact
        odd += len(trials) - exact - len(positive)
        if positive:
            traces.append(steps(precision, positive, exact, len(trials), value))
    if not traces:
        return None
    drawn = [x for trace in traces for x in trace["x"]]
    layout: Json = {
        "xaxis": log_axis([*drawn, *([line] if line else [])], axis),
        "yaxis": {"title": {"text": "share of trials at or below"}, "range": [0, 1.03], "tickformat": ".0%"},
        "line_at": line,
    }
    text = f"{plural(len(drawn), 'mark')}, one for each trial; the higher and further left a curve, the better."
    if zeros:
        text += f" {plural(zeros, 'trial')} at exactly 0 cannot stand on a logarithmic axis: their curves begin higher."
    if odd:
        text += f" {plural(odd, 'trial')} whose value is not finite stand beyond the right end: curves end lower."
    return Plot(name, title, traces, layout, text)


def steps(precision: str, trials: list[Trial], before: int, total: int, value: Value) -> Json:
    colour = precision_colour(precision)
    return {
        "mode": "lines+markers",
        "name": precision,
        "x": [value(trial) for trial in trials],
        "y": [(before + index + 1) / total for index in range(len(trials))],
        "line": {"shape": "hv", "width": 1.2, "color": colour},
        "marker": {
            "color": colour,
            "size": 6,
            "symbol": [plot_shape(trial.verdict, None) for trial in trials],
        },
        "hoverinfo": "text",
        "hovertext": [hover(about(trial, value)) for trial in trials],
    }


def about(trial: Trial, value: Value) -> list[str]:
    error = trial.kernel_error
    return [
        trial.id,
        f"{number(value(trial))}; verdict {trial.verdict}",
        f"judged by: {error.get('criterion', '-')}, output {error.get('output', '-')}",
    ]
