"""Estimates from samples, as docs/measurement.md defines them: with numpy and scipy, and not from the program."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Numbers = np.ndarray[Any, np.dtype[np.float64]]
FEWEST_BLOCKS = 6
STRETCHES = 6


@dataclass
class Cells:
    """What a trial's numbers rest on: by process, its blocks in the order of time, and the time of one call in each."""

    processes: list[int]
    blocks: list[list[int]]
    times: list[Numbers]

    def all(self) -> Numbers:
        return np.concatenate(self.times)

    def by_block(self) -> dict[tuple[int, int], float]:
        series = zip(self.processes, self.blocks, self.times, strict=True)
        return {(p, b): t for p, blocks, times in series for b, t in zip(blocks, times, strict=True)}


def rows_of(measurement: dict[str, Any]) -> list[tuple[list[Any], dict[str, Any]]]:
    """The rows that were not left out, each with what more it says."""
    rows = [(row[:5], row[5] if len(row) > 5 else {}) for row in measurement["samples"]]
    return [(row, more) for row, more in rows if not more.get("left_out")]


def cells_of(rows: Iterable[list[Any]]) -> Cells:
    processes: dict[int, dict[int, float]] = {}
    for process, block, _, calls, time_ns in rows:
        processes.setdefault(process, {})[block] = time_ns / calls
    names = sorted(processes)
    blocks = [sorted(processes[name]) for name in names]
    times = [np.array([processes[n][b] for b in of_process]) for n, of_process in zip(names, blocks, strict=True)]
    return Cells(names, blocks, times)


def warm_cells(measurement: dict[str, Any]) -> Cells:
    return cells_of(row for row, _ in rows_of(measurement))


def steady_cells(measurement: dict[str, Any]) -> Cells:
    """Mode sustained: what began in the second half of the time, at least the last cell."""
    rows = begun(measurement)
    half = sum(row[4] for row, _, _ in rows) / 2
    return cells_of([row for row, begin, calm in rows if calm and begin >= half] or [rows[-1][0]])


def begun(measurement: dict[str, Any]) -> list[tuple[list[Any], float, bool]]:
    """Every row with the timed nanoseconds before it, and whether it was kept."""
    rows = [(row[:5], not (len(row) > 5 and row[5].get("left_out"))) for row in measurement["samples"]]
    begins = np.cumsum([0.0] + [row[4] for row, _ in rows[:-1]])
    return [(row, begin, calm) for (row, calm), begin in zip(rows, begins, strict=True)]


def units(series: list[Numbers]) -> list[Numbers]:
    """Processes are the samples; of one alone, six stretches stand in for processes."""
    if len(series) > 1:
        return series
    (one,) = series
    edges = [i * len(one) // STRETCHES for i in range(STRETCHES + 1)]
    return [one[begin:end] for begin, end in itertools.pairwise(edges)]


def interval(
    series: list[Numbers], value: float, level: float, of_unit: Callable[[Numbers], Any] = np.median
) -> Numbers:
    """Student's t over what each unit says on log scale, widened to hold the value."""
    each = np.array([of_unit(unit) for unit in units(series)])
    half = stats.t.ppf((1 + level) / 2, len(each) - 1) * stats.sem(each)
    low, high = np.exp(np.mean(each) - half), np.exp(np.mean(each) + half)
    return np.array([min(low, value), max(high, value)])


def drift(logs: list[Numbers]) -> float:
    """The Theil-Sen slope within processes, as a relative change per block."""
    slopes = [(values[j] - values[i]) / (j - i) for values in logs for j in range(len(values)) for i in range(j)]
    return float(np.expm1(np.median(slopes))) if slopes else 0.0


def estimate(value: float, mad: float, logs: list[Numbers], level: float) -> dict[str, Any]:
    samples = sum(map(len, logs))
    found = {"value": value, "mad": mad, "samples": samples, "processes": len(logs), "drift_per_block": drift(logs)}
    if samples >= FEWEST_BLOCKS:
        found["interval"] = interval(logs, value, level)
    return found


def time_estimate(cells: Cells, level: float) -> dict[str, Any]:
    times = cells.all()
    logs = [np.log(series) for series in cells.times]
    return estimate(float(np.median(times)), stats.median_abs_deviation(times), logs, level)


def ratio_estimate(above: Cells, below: Cells, level: float) -> dict[str, Any]:
    """Paired by block, on log t."""
    tops, bottoms = above.by_block(), below.by_block()
    logs = {cell: np.log(tops[cell] / bottoms[cell]) for cell in sorted(tops.keys() & bottoms.keys())}
    processes = sorted({process for process, _ in logs})
    series = [np.array([log for cell, log in logs.items() if cell[0] == process]) for process in processes]
    pooled = np.concatenate(series)
    return estimate(float(np.exp(np.median(pooled))), stats.median_abs_deviation(pooled), series, level)


def welch_ratio(above: Cells, below: Cells, level: float) -> dict[str, Any]:
    """Of medians, for trials or records that share no process. One process on a side decides nothing."""
    value = float(np.exp(np.median(np.log(above.all())) - np.median(np.log(below.all()))))
    found: dict[str, Any] = {
        "value": value,
        "samples": len(above.all()) + len(below.all()),
        "processes": len(above.times) + len(below.times),
    }
    if min(len(above.times), len(below.times)) > 1:
        sides = [[np.median(np.log(times)) for times in cells.times] for cells in (above, below)]
        limits = stats.ttest_ind(*sides, equal_var=False).confidence_interval(level)
        found["interval"] = np.array([min(np.exp(limits.low), value), max(np.exp(limits.high), value)])
    return found


def differences_in_turns(above: Cells, below: Cells, turns: dict[int, int]) -> Numbers:
    """On log scale, of the medians of processes that stood beside each other; `turns` by process."""
    sides = [
        {turns[process]: np.median(np.log(times)) for process, times in zip(cells.processes, cells.times, strict=True)}
        for cells in (above, below)
    ]
    return np.array([sides[0][turn] - sides[1][turn] for turn in sorted(sides[0].keys() & sides[1].keys())])


def hodges_lehmann(differences: Numbers) -> float:
    """The centre by signed ranks: the median of the means of all pairs, each with itself among them."""
    one, other = np.triu_indices(len(differences))
    return float(np.exp(np.median((differences[one] + differences[other]) / 2)))


def signed_rank_rejects(differences: Numbers, ratio: float, level: float) -> bool:
    """Whether the exact test says that the centre is not this ratio; the interval holds all that it does not reject."""
    return bool(stats.wilcoxon(differences - np.log(ratio), method="exact").pvalue <= 1 - level)


def percentile(calls: list[Numbers], probability: float, level: float) -> dict[str, Any] | None:
    """Of single calls. Ten must lie beyond it; for an interval, two of every process."""

    def of(times: Numbers) -> float:
        return float(np.quantile(times, probability, method="median_unbiased"))

    beyond = min(probability, 1 - probability)
    pooled = np.concatenate(calls)
    if len(pooled) < round(10 / beyond):
        return None
    found: dict[str, Any] = {"value": of(pooled)}
    if min(map(len, units(calls))) >= round(2 / beyond):
        found["interval"] = interval(calls, found["value"], level, lambda times: np.log(of(times)))
    return found


def single_calls(measurement: dict[str, Any]) -> list[Numbers]:
    processes: dict[int, list[float]] = {}
    for row, more in rows_of(measurement):
        processes.setdefault(row[0], []).extend(more.get("call_times_ns", []))
    return [np.array(times) for _, times in sorted(processes.items())]
