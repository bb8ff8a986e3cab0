"""What the printed tables must show of a record: each cell, with the number of the record that stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from printed import NUMBER, numbers_in, shows, table

Record = dict[str, Any]


class Shown(NamedTuple):
    where: str
    text: str
    value: Any

    def agrees(self) -> bool:
        if isinstance(self.value, (str, type(None))):
            return self.text == (self.value or "-")
        return bool(NUMBER.search(self.text)) and shows(self.text, self.value)


def shown_numbers(record: Record, printed: str) -> Iterator[Shown]:
    for part in (main_table, quality_table, training_table, updates_table, modes_table):
        yield from part(record, printed)
    yield from ceilings(record, printed)


def rows_beside(found: list[dict[str, str]], wanted: list[Any], what: str) -> Iterator[tuple[dict[str, str], Any]]:
    assert len(found) == len(wanted), f"{what}: {len(found)} rows for {len(wanted)}"
    return zip(found, wanted, strict=True)


def number(where: str, text: str, object_: Record, *path: Any) -> Shown:  # noqa: ANN401
    """A cell with the number at this path, or a dash where there is none."""
    here: Any = object_
    for step in path:
        if not isinstance(here, dict) or step not in here:
            return Shown(where, text, None)
        here = here[step]
    return Shown(where, text, here)


def time(where: str, text: str, said: Record) -> Iterator[Shown]:
    """ "1.23 ms ± 2.1%": the half width of the interval in percent of the median."""
    median, _, width = text.partition("±")
    yield Shown(f"{where} median", median, said["median"])
    if "interval" in said:
        half = (said["interval"][1] - said["interval"][0]) / 2 / said["median"]
        yield Shown(f"{where} width", width, ">999%" if half > 10 else half)
    else:
        yield Shown(f"{where} width", median.partition("(")[2], "no interval)")


def speedup(where: str, text: str, measurement: Record) -> Shown:
    found = measurement.get("speedup_over_fp32", {})
    if found.get("not_lowered") or "interval" not in found:
        return Shown(where, text, None)
    return number(where, text, measurement, "speedup_over_fp32", "value")


def main_table(record: Record, printed: str) -> Iterator[Shown]:
    trials = [trial for trial in record["trials"] if trial.get("islands", {}).get("needed", True)]
    for row, trial in rows_beside(table(printed, "case"), trials, "main table"):
        where = trial["id"]
        lowered = ", not lowered" if trial.get("not_lowered") else ""
        for head, word in {
            "case": trial["case"],
            "shape": trial["shape"]["name"],
            "precision": trial["precision"] + lowered,
            "verdict": trial["verdict"],
        }.items():
            yield Shown(f"{where} {head}", row[head], word)
        yield number(f"{where} margin", row["margin"], trial, "accuracy", "kernel_error", "margin")
        if "bench" not in record:
            continue
        measurement = trial.get("measurement", {})
        yield number(f"{where} measurement", row["measurement"], measurement, "verdict")
        yield speedup(f"{where} speed-up", row["speed-up"], measurement)
        yield number(f"{where} memory", row["memory"], measurement, "memory", "peak_bytes")
        if "time_ns" not in measurement:
            yield Shown(f"{where} time", row["median time"], None)
            continue
        yield from time(f"{where} time", row["median time"], measurement["time_ns"])
        rate = measurement.get("tflops") or measurement.get("gbps")
        yield number(f"{where} rate", row["rate"], rate or {}, "value")
        if rate and "share_of_ceiling" in rate:
            yield Shown(f"{where} share", numbers_in(row["rate"])[-1], rate["share_of_ceiling"])


def quality_table(record: Record, printed: str) -> Iterator[Shown]:
    trials = [trial for trial in record["trials"] if trial.get("decisions")]
    for row, trial in rows_beside(table(printed, "on its data"), trials, "quality table"):
        where, decisions = trial["id"], trial["decisions"]
        yield Shown(where, row["on its data"], where)
        counted = decisions if "kind" in decisions else decisions["regression"]
        yield Shown(f"{where} rows", row["rows"], counted["rows"])
        if "accuracy" in decisions:
            yield Shown(f"{where} accuracy", row["quality"], decisions["accuracy"]["trial"])
        elif "regression" in decisions:
            reached = decisions["regression"]["against_targets"]
            yield Shown(f"{where} RMS error", row["quality"], reached["trial"]["rmse"])
            if "times" in row["against fp32"]:
                ratio = reached["trial"]["rmse"] / reached["baseline"]["rmse"]
                yield Shown(f"{where} ratio", row["against fp32"], ratio)
        if "kind" in decisions:
            changed, lost = decisions["flips"], decisions["lost"]
            yield Shown(f"{where} changed", row["decisions changed"], changed + lost)
            yield Shown(f"{where} defects", row["not explained by rounding"], decisions["defects"] + lost)


def training_table(record: Record, printed: str) -> Iterator[Shown]:
    trials = [trial for trial in record["trials"] if "training" in trial]
    for row, trial in rows_beside(table(printed, "training"), trials, "training table"):
        where, training = trial["id"], trial["training"]
        yield Shown(f"{where} applied", row["applied"], f"{training['applied']} of {training['updates']}")
        if "scale" in training:
            yield Shown(f"{where} first scale", row["scale"], training["scale"]["first"])
            yield Shown(f"{where} last scale", numbers_in(row["scale"])[-1], training["scale"]["last"])
        shadow = training["shadow"]
        yield Shown(f"{where} error", row["gradient error"], max(step["gradient_error"] for step in shadow))
        yield Shown(f"{where} zeroed", row["gradients zeroed"], max(step["zeroed_share"] for step in shadow))
        if "quality" in training:
            reached = training["quality"].get("trial") or training["quality"]["baseline"]
            yield Shown(f"{where} quality", row["held-out data"], sum(reached) / len(reached))


def updates_table(record: Record, printed: str) -> Iterator[Shown]:
    trials = [trial for trial in record["trials"] if "training" in trial.get("measurement", {})]
    for row, trial in rows_beside(table(printed, "training step"), trials, "table of training steps"):
        where, measurement = trial["id"], trial["measurement"]
        training = measurement["training"]
        yield Shown(where, row["training step"], where)
        yield from time(f"{where} step", row["a step"], measurement["time_ns"])
        if "time_per_applied_update_ns" in training:
            yield from time(f"{where} update", row["an applied update"], training["time_per_applied_update_ns"])
        applied = f"{training['applied_updates']} of {training['iterations']}"
        yield Shown(f"{where} applied", row["applied"], applied)
        for head, key in {"speed-up an update": "speedup_over_fp32", "FP16's time / BF16's": "fp16_to_bf16"}.items():
            yield number(f"{where} {key}", row[head], training, key, "value")
            if "interval" in training.get(key, {}):
                limits = numbers_in(row[head])[1:]
                for text, limit in zip(limits, training[key]["interval"], strict=True):
                    yield Shown(f"{where} {key} interval", text, limit)


def modes_table(record: Record, printed: str) -> Iterator[Shown]:
    measured = [
        (trial["id"], mode, measurement)
        for trial in record["trials"]
        for mode, measurement in trial.get("variants", {}).items()
    ]
    for row, (trial_id, mode, measurement) in rows_beside(table(printed, "trial"), measured, "table of modes"):
        where = f"{trial_id} {mode}"
        yield Shown(where, row["trial"], trial_id)
        yield Shown(where, row["mode"], mode)
        yield Shown(where, row["measurement"], measurement["verdict"])
        if "time_ns" not in measurement:
            yield Shown(f"{where} time", row["median time"], None)
            continue
        yield from time(f"{where} time", row["median time"], measurement["time_ns"])
        yield speedup(f"{where} speed-up", row["speed-up"], measurement)
        yield from more(where, row["more"], measurement)


def more(where: str, text: str, measurement: Record) -> Iterator[Shown]:
    if "latency" in measurement:
        said = measurement["latency"]
        for part in text.split(","):
            name, _, rest = part.strip().partition(" ")
            value, _, calls = rest.partition(" of ")
            yield number(f"{where} {name}", value, said, f"{name}_ns", "value")
            if calls:
                yield Shown(f"{where} calls", calls, said["calls"])
    elif "sustained" in measurement:
        said = measurement["sustained"]
        length, change = numbers_in(text)[:2]
        yield Shown(f"{where} length", length, said["time_s"] * 1e9)
        yield Shown(f"{where} change", change, said["steady_to_first"] - 1)
    else:
        yield Shown(f"{where} page faults", text, measurement["page_faults_per_call"])


def ceilings(record: Record, printed: str) -> Iterator[Shown]:
    lines = [line for line in printed.splitlines() if line.startswith("Ceilings in this run: ")]
    assert len(lines) == ("ceilings" in record)
    for part in lines[0].split(": ")[1].rstrip(".").split(", ") if lines else []:
        words = part.rsplit(" ", 2)
        said = record["ceilings"]
        if words[0].startswith("products in "):
            value = said["matmul_tflops"][words[0].removeprefix("products in ")]["value"]
        else:
            value = said[f"{words[0]}_gbps"]["value"]
        yield Shown(part, " ".join(words[1:]), value)
