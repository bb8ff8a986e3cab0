"""The cases of the suite `examples`: each goes wrong in one known way, and the record says in which."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import BUILD, ampgate, has_a_time, records
from jsonschema import Draft202012Validator

Trials = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    archive = tmp_path_factory.mktemp("examples")
    inference = ["--case", "[!t]*", "--case", "tie_scores"]  # the trainings have tests of their own
    result = ampgate("run", "--suite", "examples", *inference, "--archive", archive)
    assert result.code == 1, result.err + result.out
    (path,) = records(archive)
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def trials(record: dict[str, Any]) -> Trials:
    return {trial["id"].replace("/" + trial["shape"]["name"], ""): trial for trial in record["trials"]}


def test_record_fits_its_schema(record: dict[str, Any]) -> None:
    schema = json.loads((BUILD / "share/ampgate/schema/record.schema.json").read_text())
    errors = list(Draft202012Validator(schema).iter_errors(record))
    assert not errors, [f"{error.json_path}: {error.message}" for error in errors[:5]]


def test_overflow_is_healed_by_one_region(trials: Trials, record: dict[str, Any]) -> None:
    assert trials["detector_classifier/autocast-bf16"]["verdict"] == "pass"
    assert trials["detector_classifier/autocast-fp16"]["verdict"] == "nonfinite"
    healed = trials["detector_classifier/islands-fp16"]
    assert healed["verdict"] == "pass", healed["reason"]
    assert healed["islands"]["regions"] == ["stem"] == healed["evidence"]["islands"]
    assert healed["islands"]["minimal"] is True
    assert healed["decisions"]["accuracy"]["trial"] >= 0.97
    assert has_a_time(healed)
    assert healed["measurement"]["audit"]["problems"] == []
    assert any("stem" in sentence and "FP16" in sentence for sentence in record["answer"])
    assert trials["detector_classifier/islands-bf16"]["islands"] == {"needed": False}


@pytest.mark.parametrize("precision", ["autocast-fp16", "cast-fp16", "autocast-bf16", "cast-bf16"])
def test_tie_that_fp32_does_not_have(trials: Trials, precision: str) -> None:
    assert trials["tie_scores/fp32"]["verdict"] == "pass"
    trial = trials[f"tie_scores/{precision}"]
    assert trial["verdict"] == "quality-lost", trial["reason"]
    assert trial["decisions"]["tie_collapses"] == trial["decisions"]["flips"] == 2
    assert trial["decisions"]["defects"] == 0


def test_bf16_counts_to_256(trials: Trials) -> None:
    assert trials["ones_counter/cast-fp16"]["verdict"] == "pass"
    counted = trials["ones_counter/cast-bf16"]
    assert counted["verdict"] == "inaccurate", counted["reason"]
    assert counted["accuracy"]["kernel_error"]["actual"] == 256
    assert counted["accuracy"]["kernel_error"]["expected"] == 512
    assert any("accumulates in bfloat16" in finding["text"] for finding in counted["findings"])


def test_wrong_baseline_stops_the_case(trials: Trials) -> None:
    baseline = trials["group_norm_channels_last/fp32"]
    assert baseline["verdict"] == "inaccurate"
    error = baseline["accuracy"]["kernel_error"]
    assert abs(error["expected"]) < 10 < abs(error["actual"])
    for precision in ("autocast-fp16", "cast-fp16", "autocast-bf16", "cast-bf16"):
        assert trials[f"group_norm_channels_last/{precision}"]["verdict"] == "baseline-invalid"
