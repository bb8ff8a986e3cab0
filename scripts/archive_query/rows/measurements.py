"""The view `measurements`: what phase 2 measured of a trial, in each mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archive_query.rows.kinds import FLAG, INTEGER, INTEGER_MAP, REAL, TEXT, TEXTS, Kind, list_of, object_of
from archive_query.rows.table import Column, Malformed, Row, Table, escaped
from archive_query.rows.trials import NAMES, of_trial, trials_of

TARGET = object_of({"floor": TEXT, "least": REAL, "value": REAL, "outcome": TEXT})


def measured(name: str, kind: Kind, path: str, says: str, required: bool = False) -> Column:
    steps = (int(step) if step.isdigit() else step for step in path.split("/"))
    return Column(name, kind, ("measurement", *steps), says, required)


def with_interval(name: str, path: str, unit: str, says: str, value: str = "value") -> tuple[Column, ...]:
    """`time_ns` at `time_ns`: the columns time_ns, time_low_ns, time_high_ns."""
    suffix = f"_{unit}" if unit else ""
    stem = name.removesuffix(suffix)
    return (
        measured(name, REAL, f"{path}/{value}", says),
        measured(f"{stem}_low{suffix}", REAL, f"{path}/interval/0", f"interval of {name}"),
        measured(f"{stem}_high{suffix}", REAL, f"{path}/interval/1", f"interval of {name}"),
    )


MODE = (
    Column("mode", TEXT, ("mode",), "warm, cold, latency, sustained, default-malloc", required=True),
    measured("verdict", TEXT, "verdict", "measured, ambiguous, refused, ...", required=True),
    measured("reason", TEXT, "reason", "of every verdict but measured, in words"),
    of_trial("trial_verdict", TEXT, "verdict", "of phase 1"),
)

TIME = (
    *with_interval("time_ns", "time_ns", "ns", "of one call: the median over all samples", value="median"),
    measured("level", REAL, "time_ns/level", "of the intervals in this row"),
    measured("mad_ns", REAL, "time_ns/mad", "median absolute deviation of time_ns"),
    measured("samples", INTEGER, "time_ns/samples", "that the numbers rest on"),
    measured("processes", INTEGER, "time_ns/processes", "that they come from"),
    measured("lag1", REAL, "time_ns/lag1", "autocorrelation of neighbouring blocks"),
    measured("lag1_p", REAL, "time_ns/lag1_p", "probability of that without any"),
    measured("drift_per_block", REAL, "time_ns/drift_per_block", "relative"),
    measured("drift_p", REAL, "time_ns/drift_p", "probability of that without any"),
    measured("calls_per_cell", INTEGER, "time_ns/calls_per_cell", "timed together"),
    measured("method", TEXT, "time_ns/method", "how the interval of time_ns was made"),
    measured("notes", TEXTS, "notes", "what the order of the blocks shows beyond chance"),
)

RATIOS = (
    *with_interval("speedup_over_fp32", "speedup_over_fp32", "", "fp32's time / this one's, paired by block"),
    measured("speedup_not_lowered", FLAG, "speedup_over_fp32/not_lowered", "that is no speed of 16 bit"),
    *with_interval("fp16_to_bf16", "fp16_to_bf16", "", "FP16's time / BF16's, paired by block"),
)

RATES = (
    *with_interval("tflops", "tflops", "", "TFLOP/s (10^12)"),
    measured("tflops_share", REAL, "tflops/share_of_ceiling", "of the products in this format in this run"),
    *with_interval("gbps", "gbps", "", "GB/s (10^9)"),
    measured("gbps_share", REAL, "gbps/share_of_ceiling", "of copying in this run"),
    measured("bound_by", TEXT, "roofline/bound_by", "the nearer roof: compute, memory"),
    measured("roof_share", REAL, "roofline/share", "of what it allows"),
    measured("in_cache", FLAG, "roofline/in_cache", "the data may stay in caches: memory is no roof"),
    measured("flops_per_byte", REAL, "roofline/flops_per_byte", "of the trial"),
)

MEMORY = (
    measured("peak_bytes", INTEGER, "memory/peak_bytes", "of one warm call, outputs alive"),
    measured("allocations", INTEGER, "memory/allocations", "of one warm call"),
    measured("retained_bytes", INTEGER, "memory/retained_bytes", "what warming up left in LibTorch's allocator"),
    measured("resident_growth_bytes", INTEGER, "memory/resident_growth_bytes", "of the process meanwhile"),
    measured("least_bytes", INTEGER, "memory/least_bytes", "what a call must allocate"),
    measured("input_bytes", INTEGER, "memory/input_bytes", "of the trial's tensors"),
    measured("weight_bytes", INTEGER, "memory/weight_bytes", "of the trial's tensors"),
    measured("optimizer_bytes", INTEGER, "memory/optimizer_bytes", "moments of a training"),
    *(
        measured(f"peak_{part}_bytes", INTEGER, f"memory/peak_parts_bytes/{part}", "part of the peak of a watched call")
        for part in ("outputs", "gradients", "casts", "intermediates", "activations")
    ),
    measured("peak_workspaces_bytes", INTEGER_MAP, "memory/peak_parts_bytes/workspaces", "the rest, by operator"),
    measured("growth_calls", INTEGER, "memory/growth/calls", "further calls, in which these grew:"),
    measured("allocator_growth_bytes", INTEGER, "memory/growth/allocator_bytes", "LibTorch's allocator"),
    measured("malloc_growth_bytes", INTEGER, "memory/growth/malloc_bytes", "malloc"),
    measured("later_resident_growth_bytes", INTEGER, "memory/growth/resident_bytes", "the resident set"),
)

OVERHEAD = (
    measured("empty_call_ns", REAL, "overhead/call_ns/median", "a call of an operator that does nothing"),
    measured("dispatch_ns", REAL, "overhead/dispatch_ns/median", "each further operator that does nothing"),
    measured("host_ns", REAL, "overhead/host_ns/median", "on a GPU: to hand a call over"),
    measured("device_ns", REAL, "overhead/device_ns/median", "on a GPU: between the device's events"),
    measured("dispatches", INTEGER, "overhead/dispatches", "operators in a call"),
    measured("overhead_share", REAL, "overhead/share", "of the trial's time, at that price"),
    measured("casts", INTEGER, "casts/count", "that autocast inserts into a call"),
    measured("casts_share", REAL, "casts/share/value", "of a call's time, under observation"),
    measured("page_faults_per_call", REAL, "page_faults_per_call", "in timed cells"),
)

HOW = (
    measured("stopped_by", TEXT, "stopped_by", "width, budget, fixed number of blocks"),
    measured("looks", INTEGER, "looks", "where a width was asked for"),
    measured("widest_half_width", REAL, "widest_half_width", "likewise: of the case's intervals, relative"),
    measured("disturbed_blocks", INTEGER, "disturbed/blocks", "by other work on the machine"),
    measured("left_out_blocks", INTEGER, "disturbed/left_out", "of them, kept out of the numbers"),
    measured("output_check", TEXT, "output_check", "of the timed calls: digest, bounds"),
    measured("cells_checked", INTEGER, "cells_checked", "whose last outputs were looked at"),
    measured("targets", list_of(TARGET), "targets", "floors of the rules: met, missed, not shown"),
)

SINGLE_CALLS = (
    *with_interval("p50_ns", "latency/p50_ns", "ns", "mode latency: of single calls"),
    *with_interval("p90_ns", "latency/p90_ns", "ns", "mode latency"),
    *with_interval("p99_ns", "latency/p99_ns", "ns", "mode latency"),
    measured("min_ns", REAL, "latency/min_ns", "mode latency"),
    measured("max_ns", REAL, "latency/max_ns", "mode latency"),
    measured("single_calls", INTEGER, "latency/calls", "mode latency: how many"),
)

SUSTAINED = (
    measured("sustained_time_s", REAL, "sustained/time_s", "mode sustained: timed"),
    measured("first_tenth_median_ns", REAL, "sustained/first_tenth_median_ns", "mode sustained: of the first tenth"),
    measured("steady_to_first", REAL, "sustained/steady_to_first", "mode sustained: second half / first tenth"),
    measured("energy_per_call_j", REAL, "sustained/energy_per_call_j", "mode sustained, where the device tells"),
    measured("least_clock_mhz", REAL, "sustained/clock_mhz/least", "mode sustained, where the device tells"),
    measured("most_power_w", REAL, "sustained/power_w/most", "mode sustained, where the device tells"),
    measured("most_temperature_c", REAL, "sustained/temperature_c/most", "mode sustained, where the device tells"),
)

TRAINING = (
    measured("timed_steps", INTEGER, "training/iterations", "of a training: a call is a step"),
    measured("timed_updates", INTEGER, "training/applied_updates", "steps in which every optimizer updated"),
    *with_interval(
        "update_ns", "training/time_per_applied_update_ns", "ns", "a step / its share of updates", value="median"
    ),
    *with_interval("update_speedup_over_fp32", "training/speedup_over_fp32", "", "of applied updates"),
    *with_interval("update_fp16_to_bf16", "training/fp16_to_bf16", "", "of applied updates"),
)


def rows(record: dict[str, Any]) -> Iterator[Row]:
    for place, trial in trials_of(record):
        found = {"warm": (f"{place}/measurement", trial["measurement"])} if "measurement" in trial else {}
        variants = trial.get("variants", {})
        if not isinstance(variants, dict):
            raise Malformed(f"{place}/variants is not an object")
        found |= {mode: (f"{place}/variants/{escaped(mode)}", other) for mode, other in variants.items()}
        for mode, (where, measurement) in found.items():
            if not isinstance(measurement, dict):
                raise Malformed(f"{where} is not an object")
            yield Row(
                {"trial": trial, "mode": mode, "measurement": measurement}, {"trial": place, "measurement": where}
            )


MEASUREMENTS = Table(
    "measurements",
    "a trial that phase 2 measured, or refused, in a mode",
    (*NAMES, *MODE, *TIME, *RATIOS, *RATES, *MEMORY, *OVERHEAD, *HOW, *SINGLE_CALLS, *SUSTAINED, *TRAINING),
    rows,
)
