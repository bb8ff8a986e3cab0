"""A plot as data for Plotly. The page's script draws it when it comes into view, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from report_page.markup import Content, Markup, plot_text, tag

Json = dict[str, Any]
LOWEST_POWER, HIGHEST_POWER = -307, 308  # of ten, in a float


@dataclass
class Plot:
    """`rows`: names of the y axis's rows from the top, which the script places where there is room for them."""

    name: str
    title: str
    traces: list[Json]
    layout: Json
    caption: Content
    rows: list[tuple[str, str]] = field(default_factory=list)
    slots: int = 1
    height: int = 380

    @property
    def marks(self) -> int:
        """How many the reader sees: what a test counts in the drawn page."""
        return sum(len(trace["x"]) for trace in self.traces if "markers" in trace["mode"])

    def figure(self) -> Markup:
        place = tag("div", class_="plot", id=self.name, data_marks=self.marks, role="img", aria_label=self.title)
        content = [tag("h3", self.title), place, tag("figcaption", self.caption)]
        return tag("figure", content, class_="tall" if self.rows else None)

    def data(self) -> Json:
        rows = [[plot_text(word) for word in row] for row in self.rows]
        return {"traces": self.traces, "layout": self.layout, "rows": rows, "slots": self.slots, "height": self.height}


def bars(estimates: Iterable[Json], key: str) -> Json:
    """The intervals as Plotly's error bars, unequal to both sides. Nothing where an estimate has none."""
    above, below = [], []
    for estimate in estimates:
        value = estimate[key]
        low, high = estimate.get("interval", (value, value))
        above.append(high - value)
        below.append(value - low)
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5, "width": 0}


def hover(lines: Iterable[str]) -> str:
    return "<br>".join(map(plot_text, lines))


def log_axis(values: Sequence[float], title: str, label: str = "") -> Json:
    """From the smallest to the largest above 0, with round numbers: 1, 2, 5 where few powers of ten are spanned."""
    logarithms = [math.log10(value) for value in values if 0 < value < math.inf]
    low, high = min(logarithms, default=0), max(logarithms, default=0)
    room = max(0.04 * (high - low), 0.05)
    steps = (1, 2, 5) if high - low < 3 else (1,)
    powers = range(max(math.floor(low) - 1, LOWEST_POWER), min(math.ceil(high) + 2, HIGHEST_POWER))
    stride = max(1, round((high - low) / 8))
    ticks = [step * 10.0**power for power in powers if power % stride == 0 for step in steps]
    return {
        "type": "log",
        "title": {"text": title},
        "range": [low - room, high + room],
        "tickvals": ticks,
        "ticktext": [f"{tick:g}{label}" for tick in ticks],
    }


def offset(slot: int, slots: int) -> float:
    """Where in its row a mark stands, so that no two precisions lie on each other: rows are 1 apart."""
    return 0.0 if slots == 1 else 0.56 * (slot / (slots - 1) - 0.5)
