"""Trainings: what the run of many updates came to, and the course of loss and scale."""

from __future__ import annotations

from collections.abc import Sequence

from report_page.look import badge
from report_page.markup import Content, bullets, tag
from report_page.plots.training import training_plots
from report_page.record import Record, Trial
from report_page.section import Section, absent
from report_page.table import Cell, Column, table
from report_page.words import number, percent


def training_section(record: Record) -> Section:
    trained = [trial for trial in record.judged if trial.find("training")]
    if not trained:
        because = "no case of this record is a training that was judged (suite `training` has them)."
        return Section("training", "Training", "Training", absent("Training", because))
    plots = training_plots(record)
    scopes = dict.fromkeys(trial.find("training", "scope") for trial in trained)
    isolated = [f"{trial.id}: {trial.find('training', 'isolation', 'in_words')}" for trial in trained
                if trial.find("training", "isolation")]  # fmt: skip
    content: list[Content] = [
        updates(trained), [tag("p", f"{scope}.") for scope in scopes], [plot.figure() for plot in plots],
        tag("h3", "Gradients against FP64"), gradients(trained),
    ]  # fmt: skip
    if isolated:
        content += [tag("h3", "What is to blame"), bullets(isolated)]
    return Section("training", "Training", "Training: loss, scale and skipped updates", content, plots)


def updates(trials: Sequence[Trial]) -> Content:
    columns = [
        Column("trial"),
        Column("verdict"),
        Column("steps", number=True),
        Column("applied", number=True),
        Column("skipped", number=True),
        Column("longest skip", number=True),
        Column("scale: first", number=True),
        Column("lowest", number=True),
        Column("last", number=True),
        Column("quality against fp32", wide=True),
    ]
    rows = []
    for trial in trials:
        training = trial.find("training")
        scale = training.get("scale", {})
        scales = [number(scale.get(which)) for which in ("first", "lowest", "last")]
        counts = [str(training.get(name, "-")) for name in ("updates", "applied", "skipped", "longest_skip")]
        rows.append([trial.id, badge(trial.verdict), *counts, *scales, quality(trial)])
    return table("trainings", columns, rows)


def quality(trial: Trial) -> Content | Cell:
    found = trial.find("training", "quality")
    if not found or "outcome" not in found:
        return Cell("-", title=trial.why("training", "quality"))
    lost = "logarithm of the ratio of RMS errors" if found["metric"] == "rmse" else f"mean loss of {found['metric']}"
    allowed = "a ratio of " if found["metric"] == "rmse" else ""
    text = f"{found['outcome']}: {lost} {number(found.get('mean_loss'))}"
    if "limits" in found:
        low, high = found["limits"]
        text += f" ({number(low)} to {number(high)})"
    return f"{text}, allowed {allowed}{number(found.get('margin'))}, {found['seeds']} seeds"


def gradients(trials: Sequence[Trial]) -> Content:
    columns = [Column("trial"), Column("step", number=True), Column("norm in FP64", number=True),
               Column("relative error", number=True), Column("set to zero", number=True),
               Column("error without scaler", number=True), Column("set to zero without", number=True)]  # fmt: skip
    rows = []
    for trial in trials:
        for shadow in trial.find("training", "shadow"):
            without = shadow.get("without_scaler", {})
            zeroed = [share(shadow["zeroed_share"]), share(without.get("zeroed_share"))]
            rows.append([
                trial.id, str(shadow["step"]), number(shadow["gradient_norm"]), number(shadow["gradient_error"]),
                zeroed[0], number(without.get("gradient_error")), zeroed[1],
            ])  # fmt: skip
    return table("gradients", columns, rows)


def share(value: float | str | None) -> str:
    return percent(value) if isinstance(value, int | float) else number(value)
