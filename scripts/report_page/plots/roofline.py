"""Rates against what the device reached in plain work in the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from report_page.estimate import about
from report_page.look import plot_shape, precision_colour
from report_page.plot import Json, Plot, bars, hover, log_axis
from report_page.plots.rows import precision_traces
from report_page.record import Record, Trial
from report_page.words import percent, plural, three_digits

GIGA_IN_TERA = 1e-3


def roofline_plot(record: Record) -> Plot | None:
    """TFLOP/s over operations per byte, under the roofs. None where no trial has both."""
    shown = [trial for trial in record.judged if at(trial) and trial.find("measurement", "tflops", "value")]
    if not shown or not record.find("ceilings"):
        return None
    places = [at(trial) for trial in shown]
    roofs = roof_lines(record, min(places) / 2, max(places) * 2)
    rates = [value for trial in shown for value in drawn_rates(trial)]
    heights = rates + [value for roof in roofs for value in roof["y"]]
    layout = {
        "xaxis": log_axis([min(places) / 2, max(places) * 2], "operations per byte moved"),
        "yaxis": log_axis([value for value in heights if value >= min(rates) / 10], "TFLOP/s"),
    }
    without = Counter(missing(trial) for trial in record.judged if trial.time and trial not in shown)
    text = f"{plural(len(shown), 'mark')}; above 100 % of a roof is possible, since the roofs were measured and caches "
    text += "are faster than memory."
    text += "".join(f" {plural(count, 'trial')} not drawn: {reason}." for reason, count in without.items())
    title = "Roofline: what was reached, under what plain work reaches here"
    return Plot("plot-roofline", title, [*roofs, *marks(shown, record)], layout, text, height=460)


def at(trial: Trial) -> float | None:
    return trial.find("measurement", "roofline", "flops_per_byte")


def drawn_rates(trial: Trial) -> list[float]:
    return trial.measurement["tflops"].get("interval", [trial.measurement["tflops"]["value"]])


def missing(trial: Trial) -> str:
    for field in ("tflops", "roofline"):
        if trial.find("measurement", field) is None:
            return trial.why("measurement", field)
    return "the record has no operations per byte for it"


def marks(shown: list[Trial], record: Record) -> list[Json]:
    traces = []
    for precision in record.precisions:
        trials = [trial for trial in shown if trial.precision == precision]
        if not trials:
            continue
        rates = [trial.measurement["tflops"] for trial in trials]
        colour = precision_colour(precision)
        traces.append({
            "mode": "markers",
            "name": precision,
            "x": [at(trial) for trial in trials],
            "y": [rate["value"] for rate in rates],
            "error_y": bars(rates, "value") | {"color": colour},
            "marker": {
                "color": colour,
                "size": 8,
                "symbol": [plot_shape(trial.verdict, trial.measured) for trial in trials],
                "line": {"width": 1.5, "color": colour},
            },
            "hoverinfo": "text",
            "hovertext": [hover([*about(trial), *reached(trial)]) for trial in trials],
        })  # fmt: skip
    return traces


def reached(trial: Trial) -> list[str]:
    roof = trial.measurement["roofline"]
    cached = "; its data may stay in caches" if roof["in_cache"] else ""
    return [f"{percent(roof['share'])} of the nearer roof ({roof['bound_by']}){cached}"]


def roof_lines(record: Record, low: float, high: float) -> list[Json]:
    """Copying's rate times operations per byte, and one level for each format's products."""
    copying = record.find("ceilings", "copy_gbps", "value")
    lines = [roof(f"memory: copies {three_digits(copying)} GB/s", [low, high], lambda x: copying * x * GIGA_IN_TERA)]
    for name, ceiling in record.find("ceilings", "matmul_tflops").items():
        rate = ceiling["value"]
        lines.append(roof(f"{name} products: {three_digits(rate)} TFLOP/s", [low, high], lambda _, rate=rate: rate))
    return lines


def roof(name: str, ends: list[float], height: Callable[[float], float]) -> Json:
    return {
        "mode": "lines",
        "name": name,
        "showlegend": True,
        "x": ends,
        "y": [height(x) for x in ends],
        "line": {"width": 1.5, "dash": "dot" if name.startswith("memory") else "solid", "color": "var(--line)"},
        "hoverinfo": "name",
    }


def share_plot(record: Record) -> Plot | None:
    """How near each trial came to the nearer roof, bound by memory ones among them."""
    shown = [trial for trial in record.judged if trial.find("measurement", "roofline")]
    if not shown:
        return None
    rows = [row for row in record.rows if any(trial.row == row for trial in shown)]
    precisions = [name for name in record.precisions if any(trial.precision == name for trial in shown)]

    def share(trial: Trial) -> Json:
        return {"value": trial.measurement["roofline"]["share"]}

    drawn = [trial for trial in shown if share(trial)["value"] > 0]
    traces = precision_traces(drawn, rows, precisions, share, lambda trial: [*about(trial), *reached(trial)])
    for trace in traces:
        del trace["error_x"]
    axis = log_axis([*(share(trial)["value"] for trial in drawn), 1.0], "share of the nearer roof; 1 is the roof")
    text = f"{plural(len(drawn), 'mark')}, one for each trial that has a roof; the roofs were measured in the same run."
    layout = {"xaxis": axis, "line_at": 1}
    return Plot("plot-share", "Share of the nearer roof", traces, layout, text, rows, len(precisions))
