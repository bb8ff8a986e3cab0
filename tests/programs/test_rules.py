"""Rules as a user meets them: examples of the guide, limits that are enforced, what was relaxed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, ampgate, records

EXAMPLES = re.findall(r"^\| `/.* `(\{.*\})` \|$", (ROOT / "docs" / "rules.md").read_text(), re.MULTILINE)


def write(tmp_path: Path, rules: dict) -> Path:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(rules))
    return file


def test_every_example_of_the_guide_is_accepted(tmp_path: Path) -> None:
    assert len(EXAMPLES) > 30
    for example in EXAMPLES:
        file = write(tmp_path, json.loads(example))
        result = ampgate("validate", "--suite", "smoke", "--dry-run", "--rules", file)
        assert result.code == 0, f"{example}: {result.err}"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"outputs": {"matmull": {"max_margin": 0.5}}}, ["#/outputs/matmull: ", "matmul"]),
        ({"outputs": {"matmul/ouch": {"max_margin": 0.5}}}, ["#/outputs/matmul~1ouch: ", "out"]),
        ({"outputs": {"matmul": {"ignore": "why not"}}}, ["#/outputs/matmul: ", "every output"]),
        ({"outputs": {"matmul/out": {"ignore": "why not"}}}, ["#/outputs/matmul~1out: ", "every output"]),
        ({"outputs": {"matmul/out": {"max_margin": -1}}}, ["#/outputs/matmul~1out/max_margin: ", "-1"]),
        ({"minimum_accuracy": {"mlp_regressor": 0.5}}, ["#/minimum_accuracy/mlp_regressor: ", "digits_classifier"]),
        (
            {"targets": {"AMD/a~b*": {"mattmul/*/fp32": {"min_gbps": 1}}}},
            ["#/targets/AMD~1a~0b*/mattmul~1*~1fp32: ", "no case is called 'mattmul'"],
        ),
        ({"targets": {"*": {"matmul/*/fp33": {"min_gbps": 1}}}}, ["no precision is called 'fp33'", "fp32"]),
        ({"targets": {"*": {"matmul": {"min_gbps": 1}}}}, ["ids are case/shape/precision", "matmul/*"]),
        ({"maximum_rmse": {"digits_classifier": 1}}, ["#/maximum_rmse/digits_classifier: ", "mlp_regressor"]),
    ],
)
def test_rules_that_name_what_is_not_there(tmp_path: Path, rules: dict, words: list[str]) -> None:
    result = ampgate("validate", "--suite", "smoke", "--rules", write(tmp_path, rules), "--archive", tmp_path / "a")
    assert result.code == 2, result.out + result.err
    assert all(word in result.err for word in words), result.err
    assert not (tmp_path / "a").exists()


def test_relaxing_is_shown(tmp_path: Path) -> None:
    archive = tmp_path / "archive"

    def run(rules: dict) -> tuple[str, dict]:
        before = set(records(archive))
        arguments = ["--suite", "smoke", "--case", "exp", "--precision", "fp32", "--archive", archive]
        result = ampgate("validate", *arguments, "--rules", write(tmp_path, rules))
        assert result.code == 0, result.err
        (new,) = set(records(archive)) - before
        return result.out + result.err, json.loads(new.read_text())

    out, first = run({"bounds": {"lambda": 3}})
    assert "rules_previous" not in first
    assert "relaxed" not in out
    out, second = run({"bounds": {"lambda": 8}, "suspect_opens_gate": False})
    assert second["rules_previous"]["record"] == first["id"]
    assert second["rules_relaxed"] == [{"rule": "/bounds/lambda", "before": 3.0, "now": 8.0}]
    assert f"Rules relaxed since the record {first['id']}: /bounds/lambda from 3.0 to 8.0." in out
    (archive / "cpu" / "9.json").write_text("{")
    out, third = run({"bounds": {"lambda": 8}, "suspect_opens_gate": False})
    assert third["rules_relaxed"] == []
    assert "relaxed since" not in out
    assert "9.json" in out


def test_the_whole_validation_has_a_limit(tmp_path: Path) -> None:
    rules = write(tmp_path, {"validation_limit_s": 0.01})
    result = ampgate("validate", "--suite", "smoke", "--case", "exp", "--rules", rules, "--archive", tmp_path / "a")
    assert result.code == 1, result.err
    trials = json.loads(records(tmp_path / "a")[0].read_text())["trials"]
    assert {trial["verdict"] for trial in trials} == {"timed-out"}
    assert "validation_limit_s" in trials[0]["reason"]
