"""What was decided on the scores, by fp32 and by each precision, and the errors of regressions."""

from __future__ import annotations

from collections.abc import Sequence

from report_page.markup import Content, paragraph, tag
from report_page.plots.boundary import boundary_plot
from report_page.record import Json, Record, Trial
from report_page.section import Section, absent
from report_page.table import Cell, Column, table
from report_page.words import number, percent, plural, six_digits

MOST_SCORES = 6  # shown in a row
REGRESSION = (
    ("RMSE", "rmse"),
    ("largest error", "max_abs_error"),
    ("99 % of errors below", "p99_abs_error"),
    ("mean signed error", "mean_signed_error"),
)


def decisions_section(record: Record) -> Section:
    deciding = [trial for trial in record.judged if trial.find("decisions", "kind")]
    regressions = [trial for trial in record.judged if trial.find("decisions", "regression")]
    plot = boundary_plot(record)
    content: list[Content] = []
    if deciding:
        content += [tag("h3", "By trial"), summary(deciding), *single_decisions(deciding)]
    if plot:
        content.append(plot.figure())
    if regressions:
        content += [tag("h3", "Regressions"), regression_table(regressions)]
    if not content:
        content = [absent("Decisions", "no case of this record decides anything on its outputs, or none was judged.")]
    return Section("decisions", "Decisions", "Decisions", content, [plot] if plot else [])


def summary(trials: Sequence[Trial]) -> Content:
    names = ("flips", "explained", "tie_collapses", "defects", "lost")
    columns = [Column("trial"), Column("kind"), Column("rows", number=True)]
    columns += [Column(name.replace("_", " "), number=True) for name in names]
    columns += [Column("accuracy of fp32", number=True), Column("of the trial", number=True), Column("compared with")]
    rows = []
    for trial in trials:
        decided = trial.find("decisions")
        accuracy = decided.get("accuracy", {})
        shares = [percent(accuracy[which]) if which in accuracy else "-" for which in ("baseline", "trial")]
        counts = [str(decided[name]) for name in names]
        rows.append([trial.id, decided["kind"], str(decided["rows"]), *counts, *shares, decided["compared_with"]])
    return table("decision-counts", columns, rows)


def single_decisions(trials: Sequence[Trial]) -> list[Content]:
    listed = [(trial, entry) for trial in trials for entry in trial.find("decisions", "table")]
    left_out = sum(trial.find("decisions", "table_left_out") for trial in trials)
    text = f"The record keeps {plural(len(listed), 'decision')} in full: a few that stay, and flips. "
    text += f"{plural(left_out, 'further flip')} on ordinary and boundary inputs have no row in it."
    columns = [
        Column("trial", choices=True),
        Column("row", number=True),
        Column("input", choices=True),
        Column("fp32 decides"),
        Column("trial decides"),
        Column("effect", choices=True),
        Column("margin", number=True),
        Column("allowed", number=True),
        Column("scores: fp32 / trial", wide=True),
    ]
    rows = [decision_row(trial, entry) for trial, entry in listed]
    return [tag("h3", "Decision by decision"), paragraph(text), table("decision-table", columns, rows, filtered=True)]


def decision_row(trial: Trial, entry: Json) -> list[Content | Cell]:
    return [
        trial.id,
        str(entry["id"]),
        entry["input"],
        decision(entry["baseline_decision"]),
        decision(entry["trial_decision"]),
        Cell(tag("span", entry["effect"], class_=f"effect {entry['effect']}"), choice=entry["effect"]),
        number(entry["margin"]),
        number(entry.get("allowed")),
        scores(entry),
    ]


def decision(value: int | str | list[int]) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def scores(entry: Json) -> Cell:
    triples = list(zip(entry["classes"], entry["baseline_scores"], entry["trial_scores"], strict=False))
    parts = [f"{name}: {six_digits(base)} / {six_digits(trial)}" for name, base, trial in triples]
    shown = parts[:MOST_SCORES] + ([f"… {len(parts) - MOST_SCORES} more"] if len(parts) > MOST_SCORES else [])
    return Cell("; ".join(shown), title="; ".join(parts))


def regression_table(trials: Sequence[Trial]) -> Content:
    columns = [Column("trial"), Column("rows", number=True)]
    columns += [Column(f"{title}, {of}", number=True) for title, _ in REGRESSION for of in ("fp32", "trial")]
    rows = []
    for trial in trials:
        against = trial.find("decisions", "regression", "against_targets")
        values = [six_digits(against[of][key]) for _, key in REGRESSION for of in ("baseline", "trial")]
        rows.append([trial.id, str(trial.find("decisions", "regression", "rows")), *values])
    return table("regressions", columns, rows)
