"""Decisions on inputs that were moved towards a decision boundary: how many flip at which distance."""

from __future__ import annotations

from report_page.look import plot_shape, precision_colour
from report_page.markup import plot_text
from report_page.plot import Json, Plot, hover, log_axis
from report_page.record import Record, Trial
from report_page.words import plural


def boundary_plot(record: Record) -> Plot | None:
    traces = [trace(trial) for trial in record.judged if drawable(trial)]
    for index, one in enumerate(traces):  # equal ones lie on each other: rings around those above
        one["marker"]["size"] = max(6, 14 - 2 * index)
    if not traces:
        return None
    margins = [x for one in traces for x in one["x"]]
    every = [rung for trial in record.judged for rung in rungs(trial)]
    left_out = sum("left_out" in rung for rung in every)
    text = f"{plural(len(margins), 'mark')}, one for each trial and distance from the "
    text += "decision boundary. Such inputs flip by design: what counts "
    text += "is whether a flip is explained by the allowed error, and the table says so."
    if left_out:
        text += (
            f" {plural(left_out, 'distance')} left out by the run: they lie below what the baseline itself resolves."
        )
    layout = {
        "xaxis": log_axis(margins, "margin between the scores"),
        "yaxis": {"title": {"text": "rows that flip"}, "rangemode": "tozero"},
    }
    return Plot("plot-boundary", "Flips near the decision boundary", traces, layout, text)


def rungs(trial: Trial) -> list[Json]:
    return trial.find("decisions", "boundary", "rungs") or []


def drawable(trial: Trial) -> list[Json]:
    return [rung for rung in rungs(trial) if "flips" in rung and rung["rows"] > 0 and rung["margin"] > 0]


def trace(trial: Trial) -> Json:
    shown = drawable(trial)
    colour = precision_colour(trial.precision)
    return {
        "mode": "lines+markers",
        "name": plot_text(f"{trial.case} {trial.precision}"),
        "x": [rung["margin"] for rung in shown],
        "y": [rung["flips"] for rung in shown],
        "line": {"width": 1.2, "color": colour},
        "marker": {"color": colour, "size": 8, "symbol": plot_shape(trial.verdict, None)},
        "hoverinfo": "text",
        "hovertext": [hover(about(trial, rung)) for rung in shown],
    }


def about(trial: Trial, rung: Json) -> list[str]:
    return [
        trial.id,
        f"at {rung['margin']:g}: {rung['flips']} of {rung['rows']} rows flip",
        f"{rung['explained']} explained, {rung['tie_collapses']} tie collapses, {rung['defects']} defects, "
        f"{rung['lost']} lost to NaN",
    ]
