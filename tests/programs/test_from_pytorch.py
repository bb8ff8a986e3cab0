"""examples/from_pytorch: from a training to a verdict with the quality of each precision."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, ampgate, has_a_time, records

PRECISIONS = ("fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("from_pytorch") / "digits"
    build = ROOT / "examples" / "from_pytorch" / "digits.py:build"
    export = [sys.executable, ROOT / "scripts" / "export_case.py", build, "--out", folder]
    done = subprocess.run(export, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_fp16_and_bf16_are_judged_by_their_quality(exported: Path, tmp_path: Path) -> None:
    least = json.loads((exported / "digit-reader.json").read_text())["minimum_accuracy"]
    assert 0.95 < least < 1
    wanted = PRECISIONS[:3]
    result = ampgate("validate", "--device", "cpu", "--case-file", exported, "--precision", ",".join(wanted),
                     "--archive", tmp_path)  # fmt: skip
    assert result.code == 0, result.out + result.err
    (path,) = records(tmp_path)
    trials = {trial["precision"]: trial for trial in json.loads(path.read_text())["trials"]}
    for precision in wanted:
        trial = trials[precision]
        assert trial["verdict"] == "pass", (precision, trial["reason"])
        accuracy = trial["decisions"]["accuracy"]
        assert accuracy["rows"] == 512
        assert accuracy["trial"] >= least
        row = next(line for line in result.out.splitlines() if trial["id"] in line and "accuracy" in line)
        assert f"accuracy {accuracy['trial']:.4f}" in row
    assert "FP16 by autocast may run" in result.out
    assert "BF16 by autocast may run" in result.out


@pytest.mark.deep
def test_fp16_is_measured_against_bf16(exported: Path, tmp_path: Path) -> None:
    result = ampgate("run", "--device", "cpu", "--case-file", exported, "--archive", tmp_path, timeout=600)
    assert result.fine or result.code == 1, result.out + result.err
    (path,) = records(tmp_path)
    trials = {trial["precision"]: trial for trial in json.loads(path.read_text())["trials"]}
    assert all(has_a_time(trials[precision]) for precision in PRECISIONS)
