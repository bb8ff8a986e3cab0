"""Draws a record: speed over fp32 by case and precision, each with its interval, the verdict by shape.

pip install -r scripts/requirements-plot.txt
python scripts/plot_record.py RECORD OUT.svg
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

STYLES = {
    "autocast-fp16": ("#c2410c", -0.27),
    "cast-fp16": ("#fb923c", -0.09),
    "autocast-bf16": ("#1d4ed8", 0.09),
    "cast-bf16": ("#60a5fa", 0.27),
}


def draw(record: dict[str, Any], target: Path) -> None:
    trials = [trial for trial in record["trials"] if trial["precision"] in STYLES]
    names = sorted({f"{trial['case']} {trial['shape']['name']}" for trial in trials}, reverse=True)
    figure, axes = plt.subplots(figsize=(9, 0.42 * len(names) + 1.2))
    for trial in trials:
        colour, offset = STYLES[trial["precision"]]
        row = names.index(f"{trial['case']} {trial['shape']['name']}") + offset
        ratio = trial.get("measurement", {}).get("speedup_over_fp32")
        if ratio is None or ratio.get("not_lowered"):
            words = trial["verdict"] if ratio is None else "not lowered"
            axes.text(1.0, row, words, color=colour, fontsize=7, va="center")
            continue
        marker = "o" if trial["verdict"] == "pass" else "D"
        if "interval" in ratio:
            axes.plot(ratio["interval"], [row, row], color=colour, linewidth=1.2)
        axes.plot([ratio["value"]], [row], marker=marker, color=colour, markersize=4, linestyle="none")
    for precision, (colour, _) in STYLES.items():
        axes.plot([], [], marker="o", color=colour, linestyle="none", label=precision)
    axes.plot([], [], marker="D", color="grey", linestyle="none", label="verdict suspect")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("speed over fp32 (median of t_fp32 / t, 95 % interval); right of 1 is faster")
    axes.set_title(f"{record['device']['model']}, LibTorch {record['environment']['libtorch']['version']}", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.05), ncols=5, frameon=False)
    axes.margins(y=0.01)
    figure.savefig(target, metadata={"Date": None}, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    draw(json.loads(arguments.record.read_text()), arguments.target)


if __name__ == "__main__":
    main()
