"""A whole run on real workers: the record, its schema, the table, the gate."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import BUILD, ampgate, has_a_time, records
from jsonschema import Draft202012Validator

SCHEMA = BUILD / "share" / "ampgate" / "schema"


def load(record: Path) -> dict[str, Any]:
    return json.loads(record.read_text())


def test_record_fits_its_schema(smoke_record: Path) -> None:
    schema = json.loads((SCHEMA / "record.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    errors = list(Draft202012Validator(schema).iter_errors(load(smoke_record)))
    assert not errors, [f"{error.json_path}: {error.message}" for error in errors[:5]]


def test_schema_refuses_what_is_wrong(smoke_record: Path) -> None:
    validator = Draft202012Validator(json.loads((SCHEMA / "record.schema.json").read_text()))
    for damage in (
        lambda r: r.pop("trials"),
        lambda r: r["trials"][0].update(verdict="fine"),
        lambda r: r["trials"][0].pop("id"),
        lambda r: r.update(ampgate_record="one"),
    ):
        record = load(smoke_record)
        damage(record)
        assert not validator.is_valid(record)


def test_record_carries_its_own_digest(smoke_record: Path) -> None:
    text = smoke_record.read_bytes()
    digest = load(smoke_record)["digest"]
    assert text.count(digest.encode()) == 1
    assert hashlib.sha256(text.replace(digest.encode(), b"0" * 64)).hexdigest() == digest


def test_every_precision_has_an_answer(smoke_record: Path) -> None:
    trials = {trial["id"]: trial for trial in load(smoke_record)["trials"]}
    assert len(trials) == 10
    for name, trial in trials.items():
        assert re.fullmatch(r"[a-z0-9_.-]+/[a-z0-9_.x-]+/[a-z0-9-]+", name)
        assert trial["verdict"] == "pass", trial["reason"]
        assert has_a_time(trial)
        assert trial["measurement"]["time_ns"]["median"] > 0
        assert trial["operators"]
    cast = trials["matmul/65x33x100/cast-fp16"]
    assert {"float16"} == {kind for op in cast["operators"] if op["name"] == "aten::mm" for kind in op["outputs"]}


def test_estimate_is_a_lower_bound(smoke_record: Path) -> None:
    phases = load(smoke_record)["run"]["phases"]
    plan = ["run", "--suite", "smoke", "--case", "matmul", "--case", "softmax", "--dry-run"]
    least_s = ampgate(*plan, "--json").json()["at_least_s"]
    assert 0 < least_s <= sum(phase["wall_time_ns"] for phase in phases) / 1e9
    assert "at least" in ampgate(*plan).out


def test_data_that_are_missing(tmp_path: Path) -> None:
    selection = ["--suite", "smoke", "--case", "digits_classifier", "--archive", tmp_path]
    result = ampgate("validate", *selection, env={"AMPGATE_DATA": "/nope"})
    assert result.code == 3
    assert "/nope/digits.safetensors" in result.err


def test_medians_and_ratios_follow_from_the_samples(smoke_record: Path) -> None:
    import numpy as np

    def kept(trial: dict) -> list[list]:
        """What estimates rest on: blocks that the machine disturbed may have been measured again."""
        return [row for row in trial["measurement"]["samples"] if not (len(row) > 5 and row[5].get("left_out"))]

    trials = {trial["id"]: trial for trial in load(smoke_record)["trials"]}
    for name, trial in trials.items():
        measurement = trial["measurement"]
        samples = [row[4] / row[3] for row in kept(trial)]
        assert measurement["time_ns"]["median"] == pytest.approx(float(np.median(samples)), rel=1e-9), name
        low, high = measurement["time_ns"]["interval"]
        assert low <= measurement["time_ns"]["median"] <= high
        baseline = kept(trials[name.rsplit("/", 1)[0] + "/fp32"])
        paired = {(s[0], s[1]): s[4] / s[3] for s in baseline}
        logs = [math.log(paired[s[0], s[1]] / (s[4] / s[3])) for s in kept(trial) if (s[0], s[1]) in paired]
        if trial["precision"] != "fp32":
            speedup = measurement["speedup_over_fp32"]
            assert speedup["value"] == pytest.approx(math.exp(float(np.median(logs))), rel=1e-9), name


def test_same_seed_gives_the_same_inputs_and_outputs(smoke_record: Path, tmp_path: Path) -> None:
    again = ampgate("validate", "--suite", "smoke", "--case", "matmul", "--archive", tmp_path)
    assert again.code == 0
    (record,) = records(tmp_path)
    first = {trial["id"]: trial["evidence"] for trial in load(smoke_record)["trials"]}
    for trial in load(record)["trials"]:
        for field in ("inputs", "weights", "outputs", "rules_sha256", "build_id"):
            assert trial["evidence"][field] == first[trial["id"]][field]


def test_json_keeps_standard_output_to_itself(tmp_path: Path) -> None:
    result = ampgate("run", "--suite", "smoke", "--case", "exp", "--json", "--archive", tmp_path)
    assert result.fine
    assert result.json()["ampgate_record"] == 2


def test_what_autocast_leaves_in_fp32_is_said(tmp_path: Path) -> None:
    cases = ["--case", "exp", "--case", "matmul", "--precision", "autocast-bf16"]
    result = ampgate("run", "--suite", "smoke", *cases, "--archive", tmp_path)
    assert result.fine
    assert "1 of them stayed in FP32 all the same (not lowered)" in result.out
    lines = [line for line in result.out.splitlines() if "autocast-bf16" in line]
    assert ["not lowered" in line for line in lines[:2]] == [True, False]


def test_reproducer_line_runs(smoke_record: Path, tmp_path: Path) -> None:
    trial = next(t for t in load(smoke_record)["trials"] if t["precision"] == "cast-bf16")
    words = shlex.split(trial["reproducer"])
    assert words[0] == "ampgate"
    assert ampgate(*words[1:], cwd=tmp_path).code == 0


def test_reproduce_says_same(smoke_record: Path) -> None:
    result = ampgate("reproduce", smoke_record, "matmul/65x33x100/cast-bf16")
    assert result.code == 0, result.err
    assert "same" in result.out


def test_bench_with_evidence_passes_the_gate(smoke_record: Path, tmp_path: Path) -> None:
    result = ampgate("bench", "--evidence", smoke_record, "--archive", tmp_path)
    assert result.fine, result.err
    (record,) = records(tmp_path)
    again = load(record)
    assert load(smoke_record)["digest"] in record.read_text()
    assert all(has_a_time(trial) for trial in again["trials"])


def forged(record: Path, target: Path, change: Any) -> Path:  # noqa: ANN401
    """A record that was changed and carries the digest that fits it."""
    content = load(record)
    change(content)
    content["digest"] = "0" * 64
    text = json.dumps(content)
    target.write_text(text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1))
    return target


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("device", lambda e: e["device"].update(uuid="other")),
        ("libtorch", lambda e: e["libtorch"].update(version="1.0")),
        ("build_id", lambda e: e.update(build_id="0" * 63 + "1")),
        ("settings", lambda e: e["settings"].update(threads="77")),
        ("inputs", lambda e: e["inputs"].update({next(iter(e["inputs"])): "1" * 32})),
        ("rules_sha256", lambda e: e.update(rules_sha256="2" * 64)),
        ("precision", lambda e: e.update(precision="tf32")),
        ("shape", lambda e: e.update(shape="1x1x1")),
        ("seed", lambda e: e.update(seed=12345)),
    ],
)
def test_gate_refuses_and_names_the_field(smoke_record: Path, tmp_path: Path, field: str, change: Any) -> None:  # noqa: ANN401
    def every(record: dict[str, Any]) -> None:
        for trial in record["trials"]:
            change(trial["evidence"])

    evidence = forged(smoke_record, tmp_path / "evidence.json", every)
    result = ampgate("bench", "--evidence", evidence, "--archive", tmp_path / "archive")
    assert result.code == 1, result.out + result.err
    assert field in result.out + result.err


def test_gate_refuses_a_verdict_that_does_not_open_it(smoke_record: Path, tmp_path: Path) -> None:
    def fail(record: dict[str, Any]) -> None:
        for trial in record["trials"]:
            if trial["precision"] == "cast-fp16":
                trial.update(verdict="inaccurate", reason="made up")

    evidence = forged(smoke_record, tmp_path / "evidence.json", fail)
    result = ampgate("bench", "--evidence", evidence, "--archive", tmp_path / "archive")
    assert result.code == 1
    assert "inaccurate" in result.out + result.err
    (record,) = records(tmp_path / "archive")
    for trial in load(record)["trials"]:
        measured = "time_ns" in trial.get("measurement", {})
        assert measured == (trial["precision"] != "cast-fp16")
