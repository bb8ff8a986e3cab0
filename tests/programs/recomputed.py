"""All numbers of a record that its samples give, once more (estimates.py), beside those that it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from estimates import (
    Cells,
    begun,
    percentile,
    ratio_estimate,
    rows_of,
    single_calls,
    steady_cells,
    time_estimate,
    warm_cells,
    welch_ratio,
)

# What logarithms, exponentials and sums in another order may change.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
Measured = dict[tuple[str, str], dict[str, Any]]  # by trial and mode
NO_NUMBERS = ("refused", "output-changed", "crashed", "timed-out")


class Number(NamedTuple):
    where: str
    said: Any
    expected: Any

    def agrees(self) -> bool:
        if isinstance(self.expected, str) or self.expected is None or self.said is None:
            return self.said == self.expected
        return bool(np.allclose(self.said, self.expected, rtol=RELATIVE, atol=ABSOLUTE))


def numbers_of(record: dict[str, Any]) -> Iterator[Number]:
    measured = measurements(record)
    for (trial_id, mode), measurement in measured.items():
        where = f"{trial_id} {mode}"
        if measurement["verdict"] in NO_NUMBERS:
            yield Number(f"{where} time_ns", measurement.get("time_ns"), None)
            continue
        level = measurement["time_ns"]["level"]
        yield Number(f"{where} level", level, level_of(record, measurement))
        cells = cells_in(measurement, mode)
        time = time_estimate(cells, level)
        yield from beside(f"{where} time_ns", measurement["time_ns"], time, "median")
        yield from ratios(measured, trial_id, mode, measurement, f"{where} ", level)
        yield from rates(record, trial_id, mode, measurement, time, where)
        yield from disturbed(measured, trial_id, mode, measurement, where)
        if mode == "latency":
            yield Number(f"{where} latency level", measurement["latency"]["level"], level)
            yield from latency(measurement, where)
        if mode == "sustained":
            yield from sustained(measurement, time["value"], where)
        if "training" in measurement:
            yield from training(measured, trial_id, mode, measurement, where, level)
        if "share" in measurement.get("overhead", {}):
            yield Number(f"{where} overhead", measurement["overhead"]["share"], overhead_share(measurement))


def measurements(record: dict[str, Any]) -> Measured:
    found = {}
    for trial in record["trials"]:
        if "measurement" in trial:
            found[trial["id"], "warm"] = trial["measurement"]
        found |= {(trial["id"], mode): measurement for mode, measurement in trial.get("variants", {}).items()}
    return found


def cells_in(measurement: dict[str, Any], mode: str) -> Cells:
    return steady_cells(measurement) if mode == "sustained" else warm_cells(measurement)


def level_of(record: dict[str, Any], measurement: dict[str, Any]) -> float:
    """At look k of a run that may stop at any look, 1 - (1 - level) / (k (k + 1))."""
    level = record["rules"]["measurement"]["interval_level"]
    look = measurement.get("looks", 0)
    return 1 - (1 - level) / (look * (look + 1)) if look else level


def beside(where: str, said: dict[str, Any], expected: dict[str, Any], value: str) -> Iterator[Number]:
    yield Number(f"{where} {value}", said[value], expected["value"])
    yield Number(f"{where} interval", said.get("interval"), expected.get("interval"))
    for key in expected.keys() - {"value", "interval"}:
        yield Number(f"{where} {key}", said[key], expected[key])


def ratios(
    measured: Measured, trial_id: str, mode: str, said: dict[str, Any], where: str, level: float
) -> Iterator[Number]:
    """A speed-up is t_fp32 / t, FP16:BF16 is t_fp16 / t_bf16. The sustained trials of a case ran one after another."""
    case, shape, precision = trial_id.split("/")
    pairs = {
        "speedup_over_fp32": (f"{case}/{shape}/fp32", trial_id),
        "fp16_to_bf16": (trial_id, f"{case}/{shape}/{precision.replace('fp16', 'bf16')}"),
    }
    for key, (above, below) in pairs.items():
        if key in said:
            sides = [per_update(measured[side, mode], mode, "iterations" in said) for side in (above, below)]
            of = welch_ratio if mode == "sustained" else ratio_estimate
            yield Number(f"{where}{key} level", said[key]["level"], level)
            expected = of(*sides, level)
            if said[key].get("absent", {}).get("interval", "").startswith("no interval, since"):
                unclear = {measured[side, mode]["verdict"] for side in (above, below)}
                yield Number(f"{where}{key} unclear", "ambiguous" in unclear, True)
                expected = {"value": expected["value"]}
            yield from beside(f"{where}{key}", said[key], expected, "value")


def per_update(measurement: dict[str, Any], mode: str, updates: bool) -> Cells:
    """Times of a call, or of a training's applied update: skipped steps are paid for."""
    cells = cells_in(measurement, mode)
    if not updates:
        return cells
    steps, applied = step_counts(measurement)
    return replace(cells, times=[times * steps / applied for times in cells.times])


def step_counts(measurement: dict[str, Any]) -> tuple[int, int]:
    rows = [(row, more) for row, more in rows_of(measurement) if "applied" in more]
    return sum(row[3] for row, _ in rows), sum(more["applied"] for _, more in rows)


def rates(
    record: dict[str, Any], trial_id: str, mode: str, said: dict[str, Any], time: dict[str, Any], where: str
) -> Iterator[Number]:
    (trial,) = (trial for trial in record["trials"] if trial["id"] == trial_id)
    flops, moved = trial["facts"]["flops"], trial["facts"]["bytes"]
    ceilings = record.get("ceilings", {})
    precision = "fp32" if trial.get("not_lowered") else trial["precision"][-4:]
    product = ceilings.get("matmul_tflops", {}).get(precision, {}).get("value")
    copy = ceilings.get("copy_gbps", {}).get("value")
    for key, work, unit, ceiling in (("tflops", flops, 1e3, product), ("gbps", moved, 1.0, copy)):
        if key not in said:
            continue
        rate = work / time["value"] / unit
        yield Number(f"{where} {key}", said[key]["value"], rate)
        limits = work / time["interval"][::-1] / unit if "interval" in time else None
        yield Number(f"{where} {key} interval", said[key].get("interval"), limits)
        yield Number(f"{where} {key} share", said[key].get("share_of_ceiling"), rate / ceiling if ceiling else None)
    if "roofline" in said:
        compute = flops / product / 1e3 if product else 0.0
        memory = moved / copy
        yield Number(f"{where} roof", said["roofline"]["bound_by"], "compute" if compute >= memory else "memory")
        yield Number(f"{where} roof share", said["roofline"]["share"], max(compute, memory) / time["value"])


def disturbed(measured: Measured, trial_id: str, mode: str, said: dict[str, Any], where: str) -> Iterator[Number]:
    """A block is disturbed where a cell of any precision of the case is; sustained trials ran alone."""
    group = trial_id.rsplit("/", 1)[0]
    beside_it = [m for (other, of), m in measured.items() if of == mode and other.rsplit("/", 1)[0] == group]
    bad = {
        (row[0], row[1])
        for measurement in ([said] if mode == "sustained" else beside_it)
        for row in measurement.get("samples", [])
        if len(row) > 5 and "disturbed" in row[5]
    }
    blocks = sum((row[0], row[1]) in bad for row in said["samples"])
    counts = said.get("disturbed", {"blocks": 0, "left_out": 0})
    yield Number(f"{where} disturbed blocks", counts["blocks"], blocks)
    yield Number(f"{where} blocks left out", counts["left_out"], len(said["samples"]) - len(rows_of(said)))


def latency(measurement: dict[str, Any], where: str) -> Iterator[Number]:
    said, calls = measurement["latency"], single_calls(measurement)
    pooled = np.concatenate(calls)
    yield Number(f"{where} calls", said["calls"], len(pooled))
    yield Number(f"{where} extremes", [said["min_ns"], said["max_ns"]], [pooled.min(), pooled.max()])
    for name, probability in {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}.items():
        expected = percentile(calls, probability, said["level"])
        if expected is None:
            yield Number(f"{where} {name}", said.get(name), None)
        else:
            yield from beside(f"{where} {name}", said[name], expected, "value")


def sustained(measurement: dict[str, Any], steady: float, where: str) -> Iterator[Number]:
    said = measurement["sustained"]
    rows = begun(measurement)
    total = sum(row[4] for row, _, _ in rows)
    calm = [(row, begin) for row, begin, calm in rows if calm]
    first = [row[4] / row[3] for row, begin in calm if begin < total / 10] or [calm[0][0][4] / calm[0][0][3]]
    yield Number(f"{where} time_s", said["time_s"], total / 1e9)
    yield Number(f"{where} first tenth", said["first_tenth_median_ns"], np.median(first))
    yield Number(f"{where} steady", said["steady_to_first"], steady / np.median(first))


def training(
    measured: Measured, trial_id: str, mode: str, measurement: dict[str, Any], where: str, level: float
) -> Iterator[Number]:
    said = measurement["training"]
    steps, applied = step_counts(measurement)
    yield Number(f"{where} steps", [said["iterations"], said["applied_updates"]], [steps, applied])
    if applied:
        key = "time_per_applied_update_ns"
        update = time_estimate(per_update(measurement, mode, updates=True), level)
        yield Number(f"{where} {key} level", said[key]["level"], level)
        yield from beside(f"{where} {key}", said[key], update, "median")
    yield from ratios(measured, trial_id, mode, said, f"{where} update ", level)


def overhead_share(measurement: dict[str, Any]) -> float:
    """What the operators cost at the price of empty ones, the scope of autocast once, over the trial's time."""
    call, each = (measurement["overhead"][key]["median"] for key in ("call_ns", "dispatch_ns"))
    return (max(call - each, 0.0) + measurement["overhead"]["dispatches"] * each) / measurement["time_ns"]["median"]
