"""The view `trials`: what phase 1 says of a case in a shape and a precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archive_query.rows.kinds import (
    FLAG,
    INTEGER,
    INTEGER_MAP,
    REAL,
    REALS,
    TEXT,
    TEXT_MAP,
    TEXTS,
    Kind,
    list_of,
    object_of,
)
from archive_query.rows.table import Column, Row, Table, items

# In every view but `runs`.
NAMES = (
    Column("trial", TEXT, ("trial", "id"), "id: case/shape/precision; the same on all devices", required=True),
    Column("case_name", TEXT, ("trial", "case"), "operator, model or training step", required=True),
    Column("shape", TEXT, ("trial", "shape", "name"), "its sizes", required=True),
    Column("precision", TEXT, ("trial", "precision"), "fp32, autocast-fp16, cast-bf16, ...", required=True),
)

FINDING = object_of({key: TEXT for key in ("input", "shape", "verdict", "text")})
COUNTS = {key: INTEGER for key in ("flips", "explained", "defects", "tie_collapses", "lost")}
RUNG = object_of({"margin": REAL, "rows": INTEGER, "rows_below_margin": INTEGER, **COUNTS, "left_out": TEXT})


def of_trial(name: str, kind: Kind, path: str, says: str, required: bool = False) -> Column:
    steps = (int(step) if step.isdigit() else step for step in path.split("/"))
    return Column(name, kind, ("trial", *steps), says, required)


VERDICT = (
    of_trial("verdict", TEXT, "verdict", "pass, suspect, inaccurate, ...", required=True),
    of_trial("reason", TEXT, "reason", "of every verdict but pass, in words"),
    of_trial("measurement_verdict", TEXT, "measurement/verdict", "of phase 2, mode `warm`"),
    of_trial("not_lowered", FLAG, "not_lowered", "autocast left every operator in FP32"),
    of_trial("findings", list_of(FINDING), "findings", "on edge inputs and on what a user should know"),
    of_trial("reproducer", TEXT, "reproducer", "command line for this trial alone"),
    of_trial("validation_time_ns", INTEGER, "validation_time_ns", "what judging took"),
)

FACTS = (
    of_trial("dims", INTEGER_MAP, "shape/dims", "sizes by name"),
    of_trial("meaning", TEXT, "facts/meaning", "of the outputs: values, scores, regression"),
    of_trial("flops", REAL, "facts/flops", "of a call; 0: none that are counted"),
    of_trial("moved_bytes", REAL, "facts/bytes", "that a call reads and writes at least; 0: not said"),
)

KERNEL = "accuracy/kernel_error"
COST = "accuracy/precision_cost"
ACCURACY = (
    of_trial("criterion", TEXT, f"{KERNEL}/criterion", "what the error is judged by"),
    of_trial("margin", REAL, f"{KERNEL}/margin", "(error - rounding) / bound, the largest: 1 is the limit"),
    of_trial("output", TEXT, f"{KERNEL}/output", "the output where the margin is largest"),
    of_trial("bound", REAL, f"{KERNEL}/bound", "there"),
    of_trial("expected", REAL, f"{KERNEL}/expected", "there, by the FP64 oracle"),
    of_trial("actual", REAL, f"{KERNEL}/actual", "there"),
    of_trial("max_abs_error", REAL, f"{KERNEL}/max_abs_error", "the largest error, wherever it is"),
    of_trial("max_ulp", INTEGER, f"{KERNEL}/max_ulp", "the largest error, in units in the last place"),
    of_trial("mean_signed_error", REAL, f"{KERNEL}/mean_signed_error", "the bias"),
    of_trial("rms_error", REAL, f"{KERNEL}/rms_error", "of models"),
    of_trial("predicted_rms_error", REAL, f"{KERNEL}/predicted_rms_error", "of models"),
    of_trial("elements", INTEGER, f"{KERNEL}/elements", "that were judged"),
    of_trial("rejected", INTEGER, f"{KERNEL}/rejected", "of them"),
    of_trial("cost_margin", REAL, f"{COST}/margin", "of the difference to the FP32 baseline"),
    of_trial("cost_max_abs_error", REAL, f"{COST}/max_abs_error", "against the FP32 baseline"),
    of_trial("cost_relative_rms_error", REAL, f"{COST}/relative_rms_error", "against the FP32 baseline"),
    of_trial("cost_mean_signed_error", REAL, f"{COST}/mean_signed_error", "against the FP32 baseline"),
    of_trial("exact_integers_equal", FLAG, "accuracy/exact_integers/equal", "on inputs with one right answer"),
    of_trial("every_value_margin", REAL, "accuracy/every_value/margin", "over all values of a 16-bit type"),
    of_trial("surroundings_right", FLAG, "accuracy/surroundings/right", "nothing beyond the tensors was reached"),
    of_trial("repeatable_in_process", FLAG, "accuracy/repeatable_in_process", "bit by bit"),
    of_trial("repeatable_across_processes", FLAG, "accuracy/repeatable_across_processes", "bit by bit"),
    of_trial("batch_invariant", FLAG, "accuracy/batch_invariant", "rows alone have the bits that they have in a batch"),
    of_trial("input_digests", TEXT_MAP, "evidence/inputs", "by tensor"),
    of_trial("output_digests", TEXT_MAP, "evidence/outputs", "by tensor: equal digests are equal bits"),
)

QUALITY = (
    of_trial("decision_kind", TEXT, "decisions/kind", "argmax, threshold, top-k, actions"),
    of_trial("decision_rows", INTEGER, "decisions/rows", "decisions on ordinary inputs"),
    of_trial("flips", INTEGER, "decisions/flips", "decisions other than FP32's: the three below together"),
    of_trial("explained", INTEGER, "decisions/explained", "by rounding, since the margin is that small"),
    of_trial("defects", INTEGER, "decisions/defects", "not explained"),
    of_trial("tie_collapses", INTEGER, "decisions/tie_collapses", "scores that became equal"),
    of_trial("lost", INTEGER, "decisions/lost", "no decision, since a score is NaN"),
    of_trial("largest_flipped_margin", REAL, "decisions/largest_flipped_margin", "between FP32's scores"),
    of_trial("boundary_rungs", list_of(RUNG), "decisions/boundary/rungs", "counts on inputs near the boundary"),
    of_trial("accuracy", REAL, "decisions/accuracy/trial", "share of right decisions"),
    of_trial("baseline_accuracy", REAL, "decisions/accuracy/baseline", "of FP32"),
    of_trial("oracle_accuracy", REAL, "decisions/accuracy/oracle", "of FP64"),
    of_trial("rmse", REAL, "decisions/regression/against_targets/trial/rmse", "against the targets"),
    of_trial("baseline_rmse", REAL, "decisions/regression/against_targets/baseline/rmse", "of FP32"),
    of_trial("oracle_rmse", REAL, "decisions/regression/against_targets/oracle/rmse", "of FP64"),
)

ISLANDS = (
    of_trial("islands_needed", FLAG, "islands/needed", "autocast alone fails"),
    of_trial("islands_healed", FLAG, "islands/healed", "with regions kept in FP32"),
    of_trial("islands", TEXTS, "islands/regions", "the smallest set of regions found"),
)

TRAINING = (
    of_trial("updates", INTEGER, "training/updates", "steps of the training, skipped ones among them"),
    of_trial("applied_updates", INTEGER, "training/applied", "steps that changed the weights"),
    of_trial("skipped_updates", INTEGER, "training/skipped", "by the gradient scaler"),
    of_trial("longest_skip", INTEGER, "training/longest_skip", "steps in a row"),
    of_trial("first_scale", REAL, "training/scale/first", "of the gradient scaler"),
    of_trial("lowest_scale", REAL, "training/scale/lowest", "of the gradient scaler"),
    of_trial("last_scale", REAL, "training/scale/last", "of the gradient scaler"),
    of_trial("quality_metric", TEXT, "training/quality/metric", "accuracy, rmse"),
    of_trial("baseline_quality", REALS, "training/quality/baseline", "of FP32, by seed"),
    of_trial("quality", REALS, "training/quality/trial", "by seed"),
    of_trial("quality_loss", REAL, "training/quality/mean_loss", "positive: worse than FP32; of rmse log of the ratio"),
    of_trial("quality_loss_low", REAL, "training/quality/limits/0", "its interval"),
    of_trial("quality_loss_high", REAL, "training/quality/limits/1", "its interval"),
    of_trial("quality_outcome", TEXT, "training/quality/outcome", "no worse, worse, open"),
)

FIRST_BAD = tuple(
    of_trial(f"first_bad_{key}", TEXT, f"explanation/first_bad/{key}", says)
    for key, says in {
        "class": "where the first NaN or infinity comes from",
        "reason": "overflow, division by zero, ...",
        "operator": "that made it",
        "region": "of the model",
        "text": "in words",
    }.items()
)


def trials_of(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from items(record.get("trials"), "/trials")


def rows(record: dict[str, Any]) -> Iterator[Row]:
    for place, trial in trials_of(record):
        yield Row({"trial": trial}, {"trial": place})


TRIALS = Table(
    "trials",
    "a case in a shape and a precision, as phase 1 judged it",
    (*NAMES, *VERDICT, *FACTS, *ACCURACY, *QUALITY, *ISLANDS, *TRAINING, *FIRST_BAD),
    rows,
)
