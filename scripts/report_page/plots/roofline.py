"""Rates against what the device reached in plain work in the same run."""

from __future__ import annotations

from collections import Counter

from report_page.estimate import about
from report_page.look import plot_shape, precision_colour
from report_page.markup import plot_text
from report_page.plot import Json, Plot, bars, hover, log_axis
from report_page.plots.rows import plain_first, precision_traces
from report_page.record import Record, Trial
from report_page.words import percent, plural, three_digits

GIGA_IN_TERA = 1e-3
COLOURS = {"fp32": "fp32", "tf32": "tf32", "fp16": "autocast-fp16", "bf16": "autocast-bf16"}
DASHES = {"fp16": "dash", "bf16": "longdash", "tf32": "dashdot"}


def roofline_plot(record: Record) -> Plot | None:
    """TFLOP/s over operations per byte, under the roofs. None where no trial has both."""
    shown = [trial for trial in record.judged if at(trial) and trial.find("measurement", "tflops", "value")]
    if not shown or not record.find("ceilings"):
        return None
    places = [at(trial) for trial in shown]
    roofs = roof_lines(record, min(places), max(places))
    ends = [x for roof in roofs for x in roof["x"]]
    rates = [value for trial in shown for value in drawn_rates(trial)]
    layout = {
        "xaxis": log_axis([*places, *ends], "operations per byte moved"),
        "yaxis": log_axis([*rates, *(value for roof in roofs for value in roof["y"])], "TFLOP/s"),
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
        trials = plain_first([trial for trial in shown if trial.precision == precision])
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
    """Copying's rate times operations per byte, up to where the rate of a format's products bounds it."""
    copying = record.find("ceilings", "copy_gbps", "value")
    products = {name: one["value"] for name, one in record.find("ceilings", "matmul_tflops").items()}
    ridges = {name: rate / (copying * GIGA_IN_TERA) for name, rate in products.items()}
    left = min(low, *ridges.values()) / 2 if ridges else low / 2
    right = 2 * max(high, *ridges.values()) if ridges else 2 * high
    slope = [left, max(ridges.values(), default=right)]
    memory = f"memory: copies {three_digits(copying)} GB/s"
    lines = [roof(memory, slope, [copying * x * GIGA_IN_TERA for x in slope], "dot", "fp32")]
    for name, rate in products.items():
        words = f"{name} products: {three_digits(rate)} TFLOP/s"
        lines.append(roof(words, [ridges[name], right], [rate, rate], DASHES.get(name, "solid"), COLOURS.get(name)))
    return lines


def roof(name: str, x: list[float], y: list[float], dash: str, like: str | None) -> Json:
    """In the colour of the precisions that are below it."""
    colour = precision_colour(like or "")
    line = {"width": 1.5, "dash": dash, "color": colour}
    return {
        "mode": "lines",
        "name": plot_text(name),
        "showlegend": True,
        "x": x,
        "y": y,
        "line": line,
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
