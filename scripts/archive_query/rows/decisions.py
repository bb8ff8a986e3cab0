"""The view `decisions`: decisions that changed, and those with the smallest margins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archive_query.rows.kinds import DECISION, INTEGER, INTEGERS, REAL, REALS, TEXT
from archive_query.rows.table import Column, Malformed, Row, Table, items
from archive_query.rows.trials import NAMES, of_trial, trials_of

DECISION_COLUMNS = (
    of_trial("kind", TEXT, "decisions/kind", "argmax, threshold, top-k, actions"),
    of_trial("output", TEXT, "decisions/output", "that holds the scores"),
    of_trial("compared_with", TEXT, "decisions/compared_with", "FP32 baseline; for the baseline itself FP64 oracle"),
    Column("sample", INTEGER, ("row", "id"), "its id, or its number", required=True),
    Column("input", TEXT, ("row", "input"), "ordinary, or boundary and how near", required=True),
    Column("position", INTEGER, ("row", "position"), "where a sample has several decisions"),
    Column("effect", TEXT, ("row", "effect"), "unchanged, explained, tie-collapse, defect, lost", required=True),
    Column("baseline_decision", DECISION, ("row", "baseline_decision"), "class, classes of the top k, or action"),
    Column("trial_decision", DECISION, ("row", "trial_decision"), "likewise; `none`: a score is NaN"),
    Column("margin", REAL, ("row", "margin"), "between the baseline's scores"),
    Column("allowed", REAL, ("row", "allowed"), "margin up to which rounding explains a change"),
    Column("classes", INTEGERS, ("row", "classes"), "that the scores are of"),
    Column("baseline_scores", REALS, ("row", "baseline_scores"), "of these classes"),
    Column("trial_scores", REALS, ("row", "trial_scores"), "of these classes"),
)


def rows(record: dict[str, Any]) -> Iterator[Row]:
    for place, trial in trials_of(record):
        decided = trial.get("decisions", {})
        if not isinstance(decided, dict):
            raise Malformed(f"{place}/decisions is not an object")
        for where, row in items(decided.get("table", []), f"{place}/decisions/table"):
            yield Row({"trial": trial, "row": row}, {"trial": place, "row": where})


DECISIONS = Table(
    "decisions",
    "a decision of a trial that changed, or nearly did",
    (*NAMES, *DECISION_COLUMNS),
    rows,
)
