"""Loss, loss scale and skipped updates over the steps of a training."""

from __future__ import annotations

import math
from collections.abc import Sequence

from report_page.look import precision_colour
from report_page.markup import escaped
from report_page.plot import Json, Plot, hover
from report_page.record import Record, Trial
from report_page.words import finite, number, plural

MOST_STEPS = 600  # that are drawn of one training


def training_plots(record: Record) -> list[Plot]:
    """One a case and shape, with all precisions in it."""
    trained = [trial for trial in record.judged if trial.find("training", "steps")]
    plots = []
    for index, row in enumerate(dict.fromkeys(trial.row for trial in trained)):
        plots.append(training_plot(f"plot-training-{index}", row, [trial for trial in trained if trial.row == row]))
    return plots


def training_plot(name: str, row: tuple[str, str], trials: list[Trial]) -> Plot:
    traces: list[Json] = []
    notes: list[str] = []
    for index, trial in enumerate(trials):
        steps = trial.find("training", "steps")
        kept = kept_steps(steps)
        width = max(1.0, 4 - 1.4 * index)  # equal losses lie on each other: wider ones below show
        traces += [*loss_traces(trial, steps, kept, width), *scale_traces(trial, steps, kept)]
        notes += remarks(trial, steps, kept)
    layout = {
        "xaxis": {"title": {"text": "step"}, "anchor": "y2"},
        "yaxis": {"title": {"text": "loss"}, "domain": [0.56, 1]},
    }
    scales = [value for trace in traces if trace.get("yaxis") == "y2" for value in trace["y"]]
    if scales:
        layout["yaxis2"] = {**powers_of_two(scales), "title": {"text": "loss scale"}, "domain": [0, 0.44]}
    else:
        del layout["xaxis"]["anchor"], layout["yaxis"]["domain"]
        notes.append("No loss scale is drawn: no precision here trains with a gradient scaler.")
    counted = plural(sum(len(trace["x"]) for trace in traces), "mark")
    text = f"{counted}. A cross on the scale is a skipped update: its gradients were not finite, and the scale falls. "
    title = f"{row[0]} {row[1]}: loss" + (", loss scale and skipped updates" if scales else "")
    return Plot(name, title, traces, layout, escaped(text + " ".join(notes)), height=520 if scales else 340)


def powers_of_two(values: Sequence[float]) -> Json:
    """The scaler doubles and halves: an axis with its own steps."""
    low, high = math.floor(math.log2(min(values))) - 1, math.ceil(math.log2(max(values))) + 1
    stride = max(1, round((high - low) / 8))
    ticks = [2.0**power for power in range(low, high + 1, stride) if abs(power) < 1000]
    bounds = [low * math.log10(2), high * math.log10(2)]
    return {"type": "log", "range": bounds, "tickvals": ticks, "ticktext": [f"{tick:.6g}" for tick in ticks]}


def kept_steps(steps: Json) -> list[int]:
    """All, or where there are too many every k-th, and each at which the scale changes or an update is skipped."""
    count = len(steps["loss"])
    stride = -(-count // MOST_STEPS)
    scale = steps["scale"]
    return [
        step
        for step in range(count)
        if step % stride == 0
        or step == count - 1
        or (step < len(scale) and step > 0 and scale[step] != scale[step - 1])
        or skipped(steps, step)
    ]


def skipped(steps: Json, step: int) -> bool:
    return step < len(steps["stepped"]) and False in steps["stepped"][step]  # null: its step was not called


def at(values: Sequence[float | str], step: int) -> float | None:
    return finite(values[step]) if step < len(values) else None


def loss_traces(trial: Trial, steps: Json, kept: Sequence[int], width: float) -> list[Json]:
    drawn = [step for step in kept if at(steps["loss"], step) is not None]
    colour = precision_colour(trial.precision)
    return [{
        "mode": "lines+markers",
        "name": trial.precision,
        "legendgroup": trial.precision,
        "x": drawn,
        "y": [steps["loss"][step] for step in drawn],
        "line": {"width": width, "color": colour},
        "marker": {"size": width + 2, "color": colour},
        "hoverinfo": "text",
        "hovertext": [hover([trial.id, f"step {step}: loss {number(steps['loss'][step])}"]) for step in drawn],
    }] if drawn else []  # fmt: skip


def scale_traces(trial: Trial, steps: Json, kept: Sequence[int]) -> list[Json]:
    """Those with a gradient scaler alone: the others have the scale 1 throughout."""
    drawn = [step for step in kept if (at(steps["scale"], step) or 0) > 0]
    if not drawn or not trial.find("training", "scaler"):
        return []
    return [{
        "mode": "lines+markers",
        "name": f"scale, {trial.precision}",
        "legendgroup": trial.precision,
        "showlegend": False,
        "yaxis": "y2",
        "x": drawn,
        "y": [steps["scale"][step] for step in drawn],
        "line": {"width": 1.5, "shape": "hv", "color": precision_colour(trial.precision)},
        "marker": {
            "size": [11 if skipped(steps, step) else 4 for step in drawn],
            "symbol": ["x" if skipped(steps, step) else "circle" for step in drawn],
            "color": precision_colour(trial.precision),
        },
        "hoverinfo": "text",
        "hovertext": [hover([trial.id, words_of(steps, step)]) for step in drawn],
    }]  # fmt: skip


def words_of(steps: Json, step: int) -> str:
    text = f"step {step}: scale {number(steps['scale'][step])}"
    return f"{text}; update skipped" if skipped(steps, step) else text


def remarks(trial: Trial, steps: Json, kept: Sequence[int]) -> list[str]:
    lines = []
    count = len(steps["loss"])
    if len(kept) < count:
        lines.append(
            f"Of {trial.precision}'s {count} steps {len(kept)} are drawn: one in {-(-count // MOST_STEPS)}, and each "
            "at which the scale changes or an update is skipped."
        )
    odd = [step for step in range(count) if at(steps["loss"], step) is None]
    if odd:
        where = f"step {odd[0]}" if len(odd) == 1 else f"{len(odd)} steps from step {odd[0]} on"
        lines.append(f"{trial.precision}: the loss is {steps['loss'][odd[0]]} at {where}, which no axis can show.")
    return lines
