"""The training cases of the suite `examples`: what each is told, and by which words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from conftest import BUILD, ampgate, records
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from pathlib import Path

Trials = dict[str, dict[str, Any]]


def judged(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    ampgate("validate", "--suite", "examples", "--archive", folder, *arguments)
    (record,) = records(folder)
    return json.loads(record.read_text())


def by_name(record: dict[str, Any]) -> Trials:
    return {f"{trial['case'].removeprefix('train_')}/{trial['precision']}": trial for trial in record["trials"]}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return judged(tmp_path_factory.mktemp("training"), "--case", "train_*")


@pytest.fixture(scope="module")
def trials(record: dict[str, Any]) -> Trials:
    return by_name(record)


def test_record_fits_its_schema(record: dict[str, Any]) -> None:
    schema = json.loads((BUILD / "share/ampgate/schema/record.schema.json").read_text())
    errors = list(Draft202012Validator(schema).iter_errors(record))
    assert not errors, [f"{error.json_path}: {error.message}" for error in errors[:5]]


def findings(trial: dict[str, Any]) -> set[str]:
    return {finding["verdict"] for finding in trial["findings"]}


def test_overflow_in_the_forward_pass(trials: Trials) -> None:
    trial = trials["overflow/autocast-fp16"]
    assert trial["verdict"] == "nonfinite"
    assert "autocast is to blame: the forward pass in float16 leaves the range" in trial["reason"]
    first = trial["explanation"]["first_bad"]
    assert (first["operator"], first["region"], first["class"]) == ("aten::linear", "stem", "intermediate")
    assert abs(first["exact"]) > 65504
    assert trial["training"]["applied"] == 0
    assert trials["overflow/autocast-bf16"]["verdict"] == "pass"


def test_an_island_heals_it(trials: Trials) -> None:
    trial = trials["overflow_island/autocast-fp16"]
    assert trial["verdict"] == "pass", trial["reason"]
    assert not trial["not_lowered"], "the other layer runs in FP16"
    assert trial["training"]["skipped"] == 0


def test_underflow_needs_the_scaler(trials: Trials) -> None:
    trial = trials["underflow/autocast-fp16"]
    assert trial["verdict"] == "pass", trial["reason"]
    assert "underflow-without-scaler" in findings(trial)
    first = trial["training"]["shadow"][0]
    assert first["without_scaler"]["zeroed_share"] > 0.9
    assert first["zeroed_share"] < 0.05
    bf16 = trials["underflow/autocast-bf16"]
    assert bf16["verdict"] == "pass"
    assert bf16["training"]["shadow"][0]["zeroed_share"] == 0
    assert "underflow-without-scaler" not in findings(bf16)


@pytest.mark.parametrize(
    ("case", "verdict", "words"),
    [
        ("log_of_zero", "nonfinite", ["change the model or its data, not the precision", "aten::log", "log of 0"]),
        ("label_out_of_range", "baseline-invalid", ["label 10 at 'labels[5]' is out of range", "not the precision"]),
        ("learning_rate", "quality-lost", ["the learning rate is too high", "no precision heals that"]),
    ],
)
def test_fp32_is_wrong_already(trials: Trials, case: str, verdict: str, words: list[str]) -> None:
    baseline = trials[f"{case}/fp32"]
    assert baseline["verdict"] == verdict
    for word in words:
        assert word in baseline["reason"]
    for precision in ("autocast-fp16", "autocast-bf16"):
        assert trials[f"{case}/{precision}"]["verdict"] == "baseline-invalid"


def test_a_scale_below_one_is_too_many_skips_by_default(trials: Trials) -> None:
    trial = trials["scale_below_one/autocast-fp16"]
    assert trial["verdict"] == "nonfinite"
    assert "steps in a row were skipped, the rules allow 12" in trial["reason"]
    assert "leaves the range without a scaler as well" in trial["reason"]
    assert trial["explanation"]["first_bad"]["class"] == "backward-gradient"


def test_a_scale_below_one_goes_on(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    patient = {"updates": 200, "max_consecutive_skips": 24, "max_steps_to_first_update": 24}
    rules.write_text(json.dumps({"training": patient}))
    record = judged(tmp_path / "archive", "--case", "train_scale_below_one", "--rules", rules)
    trial = by_name(record)["scale_below_one/autocast-fp16"]
    assert trial["verdict"] == "pass", trial["reason"]
    assert trial["training"]["scale"]["last"] < 1
    assert "scale-below-one" in findings(trial)
    stepped = [all(step) for step in trial["training"]["steps"]["stepped"]]
    assert not any(stepped[:17]), "65536 is 2^16"
    assert stepped.count(True) == trial["training"]["applied"] > 175


def test_one_optimizer_skips_and_the_other_steps(trials: Trials) -> None:
    trial = trials["one_skips/autocast-fp16"]
    assert trial["verdict"] == "pass", trial["reason"]
    calibration, classifier = trial["training"]["optimizers"]
    assert calibration["skipped"] == 5
    assert classifier["skipped"] == 0
    assert trial["training"]["scale"]["last"] == 65536 / 2**5, "it backs off once a step"
    assert trial["training"]["steps"]["stepped"][0] == [False, True]


def test_passing_trainings_are_traced_in_several_steps(trials: Trials) -> None:
    for name in ("underflow/fp32", "underflow/autocast-fp16", "overflow_island/autocast-bf16"):
        assert trials[name]["explanation"]["traced_steps"] == [0, 49, 99]
        assert trials[name]["explanation"]["swallowed"] == []


@pytest.mark.parametrize("selection", [[], ["--case", "train_underflow"]])
def test_converted_weights_are_refused_with_the_reason(tmp_path: Path, selection: list[str]) -> None:
    suite = "examples" if selection else "training"
    said = ampgate("validate", "--suite", suite, *selection, "--precision", "cast-fp16", "--archive", tmp_path)
    assert said.code == 2
    assert "training cases have no trial in cast-fp16" in said.err
    assert "weights in 16 bit lose their updates" in said.err


def test_a_label_out_of_range_is_reproduced_as_such(tmp_path: Path) -> None:
    judged(tmp_path, "--case", "train_label_out_of_range", "--precision", "fp32")
    (record,) = records(tmp_path)
    again = ampgate("reproduce", record, "train_label_out_of_range/batch32/fp32")
    assert again.code == 0, again.out + again.err
    assert "baseline-invalid (baseline-invalid in the record): the case itself is at fault: label 10" in again.out
    assert "crashed" not in again.out
