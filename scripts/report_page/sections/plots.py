"""The sections that are plots with few words around them."""

from __future__ import annotations

from collections.abc import Sequence

from report_page.markup import Content, tag
from report_page.plot import Plot
from report_page.plots.errors import cost_plot, margin_plot
from report_page.plots.ratio import ratio_plot
from report_page.plots.roofline import roofline_plot, share_plot
from report_page.record import Record
from report_page.section import Section, absent
from report_page.table import Column, table
from report_page.words import three_digits

NO_TIMES = "this record has no times: its run did not measure, or nothing that it measured came to a time."


def of_plots(name: str, link: str, title: str, plots: Sequence[Plot | None], otherwise: Content) -> Section:
    drawn = [plot for plot in plots if plot]
    content = [plot.figure() for plot in drawn] if drawn else otherwise
    return Section(name, link, title, content, drawn)


def ratio_section(record: Record) -> Section:
    return of_plots("time", "Time", "Time against fp32", [ratio_plot(record)], absent("Speed over fp32", NO_TIMES))


def roofline_section(record: Record) -> Section:
    because = NO_TIMES if record.find("ceilings") else "its run did not measure what the device reaches in plain work."
    plots = [roofline_plot(record), share_plot(record)]
    section = of_plots("roofline", "Roofline", "Roofline", plots, absent("Roofline", because))
    section.content = [section.content, ceilings(record)]
    return section


def ceilings(record: Record) -> Content:
    """What the roofs are made of."""
    found = record.find("ceilings")
    if not found:
        return None
    named = [(f"{name} memory", found[f"{name}_gbps"], "GB/s") for name in ("read", "write", "copy")]
    named += [(f"{name} products", one, "TFLOP/s") for name, one in found["matmul_tflops"].items()]
    columns = [Column("plain work"), Column("reached", number=True), Column("interval"), Column("samples", number=True),
               Column("theoretical peak", number=True)]  # fmt: skip
    rows = []
    for name, one, unit in named:
        low, high = one.get("interval", (None, None))
        between = f"{three_digits(low)} to {three_digits(high)}" if low is not None else "-"
        peak = found["peak"]["tflops"].get(name.split()[0]) if unit == "TFLOP/s" else found["peak"].get("gbps")
        shown_peak = f"{three_digits(peak)} {unit}" if peak else "-"
        rows.append([name, f"{three_digits(one['value'])} {unit}", between, str(one["samples"]), shown_peak])
    silent = [*found.get("absent", {}).items(), *found["peak"].get("absent", {}).items()]
    reasons = [f"{name}: {reason}." for name, reason in silent]
    source = f"Theoretical peak: {found['peak']['source']}."
    return [tag("h3", "The roofs"), table("ceilings", columns, rows), tag("p", " ".join([source, *reasons]))]


def errors_section(record: Record) -> Section:
    because = "no trial of this record was compared with an oracle by a bound."
    plots = [margin_plot(record), cost_plot(record)]
    return of_plots("errors", "Errors", "Distribution of errors", plots, absent("Distribution of errors", because))
