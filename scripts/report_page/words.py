"""Numbers as people read them, with the same digits and units as the program's own tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Number = float | int | str  # a text is "nan", "inf" or "-inf"
TIMES = "\N{MULTIPLICATION SIGN}"
Unit = Callable[[float], str]


def three_digits(value: float) -> str:
    size = abs(value)
    if size >= 1e5 or 0 < size < 1e-3:
        return f"{value:.2e}"
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def number(value: Number | None) -> str:
    """ "-" for what is not there; what is not finite by its name."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return "0" if value == 0 else three_digits(value)


def six_digits(value: Number | None) -> str:
    """Of values that are held against each other and differ little."""
    return f"{value:.6g}" if isinstance(value, int | float) else number(value)


def time(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{three_digits(nanoseconds / size)} {unit}"
    return f"{three_digits(nanoseconds)} ns"


def data_size(count: float) -> str:
    if abs(count) < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if abs(count) < 1024:
            return f"{three_digits(count)} {unit}"
    return f"{three_digits(count / 1024)} PiB"


def tflops(value: float) -> str:
    return f"{three_digits(1e3 * value)} GFLOP/s" if value < 0.1 else f"{three_digits(value)} TFLOP/s"


def ratio(value: float) -> str:
    return f"{value:.2g}{TIMES}" if value < 0.1 else f"{value:.2f}{TIMES}"


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def half_width(estimate: dict[str, Any], value: float) -> str:
    """ "±2.1 %": half of the interval, in percent of the value."""
    if "interval" not in estimate:
        return "(no interval)"
    low, high = estimate["interval"]
    half = 100 * (high - low) / 2 / value
    return "±>999 %" if half > 999 else f"±{half:.1f} %"


def plural(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}es" if noun.endswith("s") else f"{count} {noun}s"


def finite(value: Number | None) -> float | None:
    """For plots, which have no place for anything else."""
    return None if value is None or isinstance(value, str) or not math.isfinite(value) else float(value)
