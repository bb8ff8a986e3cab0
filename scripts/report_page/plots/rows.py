"""What the plots with one row a case have in common: a mark for each trial, at the place of its precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from report_page.look import plot_shape, precision_colour
from report_page.plot import Json, bars, hover, offset
from report_page.record import Trial


def plain_first(trials: Sequence[Trial]) -> list[Trial]:
    """The legend shows the mark of a trace's first point: a round and filled one where there is any."""
    return sorted(trials, key=lambda trial: (trial.verdict != "pass", trial.measured not in (None, "measured")))


def precision_traces(
    trials: Sequence[Trial],
    rows: Sequence[tuple[str, str]],
    precisions: Sequence[str],
    estimate: Callable[[Trial], Json],
    words: Callable[[Trial], Iterable[str]],
) -> list[Json]:
    """One trace a precision. `estimate` has `value`, and `interval` where there is one."""
    traces = []
    place = {row: index for index, row in enumerate(rows)}
    for slot, precision in enumerate(precisions):
        shown = plain_first([trial for trial in trials if trial.precision == precision])
        if not shown:
            continue
        estimates = [estimate(trial) for trial in shown]
        traces.append({
            "mode": "markers",
            "name": precision,
            "x": [one["value"] for one in estimates],
            "y": [place[trial.row] + offset(slot, len(precisions)) for trial in shown],
            "error_x": bars(estimates, "value") | {"color": precision_colour(precision)},
            "marker": {
                "color": precision_colour(precision),
                "size": 8,
                "symbol": [plot_shape(trial.verdict, trial.measured) for trial in shown],
                "line": {"width": 1.5, "color": precision_colour(precision)},
            },
            "hoverinfo": "text",
            "hovertext": [hover(words(trial)) for trial in shown],
        })  # fmt: skip
    return traces
