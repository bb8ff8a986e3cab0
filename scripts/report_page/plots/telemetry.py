"""What the machine did while it was timed: of the host in every record, of the device where it tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from report_page.plot import Json, Plot, hover
from report_page.record import Record, find
from report_page.words import plural

MOST_SAMPLES = 2000  # that are drawn of one quantity
MOMENTS = ("before", "after")


@dataclass(frozen=True)
class Quantity:
    field: str
    title: str
    unit: str
    scale: float = 1.0


OF_HOST = (
    Quantity("load", "Load of the machine", "runnable tasks"),
    Quantity("probe_ns", "Clock probe: longer is a slower clock", "µs", 1e-3),
    Quantity("steal_ns", "Time that the hypervisor took since start-up", "s", 1e-9),
    Quantity("preemptions", "Preemptions by other tasks, in the process", "times"),
    Quantity("memory_available_bytes", "Memory that was available", "GiB", 2.0**-30),
)
OF_DEVICE = (
    Quantity("clock_mhz", "Clock", "MHz"),
    Quantity("temperature_c", "Temperature", "°C"),
    Quantity("power_w", "Power", "W"),
)


def host_plots(record: Record) -> list[Plot]:
    """Before and after each process of phase 2."""
    plots = [moments_plot(record, quantity) for quantity in (*OF_HOST, *OF_DEVICE)]
    return [plot for plot in plots if plot]


def moments_plot(record: Record, quantity: Quantity) -> Plot | None:
    traces = []
    for moment, shape in zip(MOMENTS, ("circle-open", "circle"), strict=True):
        told = [
            (one, value * quantity.scale)
            for one in record.find("bench", "processes") or []
            if (value := find(one, "conditions", moment, quantity.field)) is not None
        ]
        if told:
            traces.append({
                "mode": "markers",
                "name": moment,
                "x": [f"{one['process']} {one['mode']}" for one, _ in told],
                "y": [value for _, value in told],
                "marker": {"size": 9, "symbol": shape, "color": "var(--accent)"},
                "hoverinfo": "text",
                "hovertext": [hover([process_words(one), f"{moment}: {value:.6g} {quantity.unit}"])
                              for one, value in told],
            })  # fmt: skip
    if not traces:
        return None
    layout = {
        "xaxis": {"title": {"text": "process"}, "type": "category"},
        "yaxis": {"title": {"text": quantity.unit}, "rangemode": "tozero"},
    }
    text = f"{plural(sum(len(trace['x']) for trace in traces), 'mark')}: hollow before a process, filled after it."
    return Plot(f"plot-host-{quantity.field}", quantity.title, traces, layout, text, height=260)


def process_words(process: Json) -> str:
    return f"process {process['process']}, {process['mode']}"


def device_plots(record: Record) -> list[Plot]:
    """Beside each sample, where the device tells: all trials of the record in the order of their samples."""
    told = device_samples(record)
    plots = [samples_plot(told, quantity) for quantity in OF_DEVICE]
    return [plot for plot in plots if plot]


def device_samples(record: Record) -> list[tuple[str, Json]]:
    found = []
    for trial in record.judged:
        for sample in trial.measurement.get("samples", []):
            if len(sample) > 5 and "device" in sample[5]:
                found.append((f"{trial.id}, process {sample[0]}, block {sample[1]}", sample[5]["device"]))
    return found


def samples_plot(told: Sequence[tuple[str, Json]], quantity: Quantity) -> Plot | None:
    having = [(where, device) for where, device in told if quantity.field in device]
    if not having:
        return None
    stride = -(-len(having) // MOST_SAMPLES)
    drawn = [
        (index, where, device)
        for index, (where, device) in enumerate(having)
        if index % stride == 0 or device.get("throttled")
    ]
    trace = {
        "mode": "markers",
        "showlegend": False,
        "x": [index for index, _, _ in drawn],
        "y": [device[quantity.field] for _, _, device in drawn],
        "marker": {
            "size": 5,
            "color": "var(--accent)",
            "symbol": ["x" if device.get("throttled") else "circle" for _, _, device in drawn],
        },
        "hoverinfo": "text",
        "hovertext": [hover([where, words_of(device, quantity)]) for _, where, device in drawn],
    }
    layout = {"xaxis": {"title": {"text": "sample, trial by trial"}}, "yaxis": {"title": {"text": quantity.unit}}}
    count = f"{plural(len(drawn), 'mark')}, one a sample"
    if stride > 1:
        count = f"{len(drawn)} of {len(having)} samples: one in {stride}, and all at which it was throttled"
    text = f"{count}. A cross where the device says that it was throttled."
    title = f"{quantity.title} beside the samples"
    return Plot(f"plot-device-{quantity.field}", title, [trace], layout, text, height=300)


def words_of(device: Json, quantity: Quantity) -> str:
    text = f"{device[quantity.field]:.6g} {quantity.unit}"
    return f"{text}; throttled: {device['throttled']}" if device.get("throttled") else text
