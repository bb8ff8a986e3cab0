"""Values with their intervals, in words: one place for all tables and plots."""

from __future__ import annotations

from report_page import words
from report_page.record import Json, Trial


def interval(estimate: Json, show: words.Unit) -> str:
    """ "2.10 to 2.40, 95 %"."""
    if "interval" not in estimate:
        return estimate.get("absent", {}).get("interval", "no interval")
    low, high = estimate["interval"]
    level = f", {words.percent(estimate['level'])}" if "level" in estimate else ""
    return f"{show(low)} to {show(high)}{level}"


def median_time(trial: Trial) -> str:
    """ "1.23 ms ±2.1 %"."""
    if trial.time is None:
        return "-"
    return f"{words.time(trial.time['median'])} {words.half_width(trial.time, trial.time['median'])}"


def rate(trial: Trial) -> str:
    """In FLOP/s where operations are counted, else in bytes a second, with the share of what plain work reached."""
    measurement = trial.measurement
    if "tflops" in measurement:
        found, text = measurement["tflops"], words.tflops(measurement["tflops"]["value"])
    elif "gbps" in measurement:
        found, text = measurement["gbps"], f"{words.three_digits(measurement['gbps']['value'])} GB/s"
    else:
        return "-"
    return f"{text}, {words.percent(found['share_of_ceiling'])}" if "share_of_ceiling" in found else text


def about(trial: Trial) -> list[str]:
    """What a mark says on hovering."""
    lines = [trial.id, f"verdict {trial.verdict}, margin {words.number(trial.margin)}"]
    if trial.time:
        lines.append(f"median {words.time(trial.time['median'])}: {interval(trial.time, words.time)}")
    if trial.speedup:
        ratio = trial.speedup
        lines.append(f"{words.ratio(ratio['value'])} the speed of fp32: {interval(ratio, words.ratio)}")
    if trial.measured not in (None, "measured"):
        lines.append(f"measurement {trial.measured}: {trial.measurement['reason']}"[:160])
    return lines
