"""Workers that crash, hang, lie or compute wrongly: the trial in flight gets its verdict, the others their answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import TEST_WORKER, Result, ampgate, has_a_time, journals, records

OTHERS = ("fp32", "autocast-fp16", "autocast-bf16", "cast-bf16")


def run_misbehaving(tmp_path: Path, request: str, *arguments: str) -> tuple[Result, dict[str, dict]]:
    """`request` as in tests/worker/misbehave.cpp; the trials of the record by their precision."""
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"trial_limit_s": 3.0}))
    result = ampgate(
        "run", "--suite", "smoke", "--case", "misbehave", "--worker", TEST_WORKER, "--archive", tmp_path / "archive",
        "--rules", rules, *arguments, env={"AMPGATE_MISBEHAVE": request},
    )  # fmt: skip
    assert records(tmp_path / "archive"), result.err
    (record,) = records(tmp_path / "archive")
    assert not journals(tmp_path / "archive")
    return result, {trial["precision"]: trial for trial in json.loads(record.read_text())["trials"]}


@pytest.mark.parametrize(
    ("what", "verdict", "words"),
    [
        ("segv", "crashed", "SIGSEGV"),
        ("abort", "crashed", "SIGABRT"),
        ("hang", "timed-out", "3"),
        ("exit0", "crashed", "without"),
        ("throw", "crashed", "thrown on request"),
        ("nan", "nonfinite", "nan"),
        ("wrong", "inaccurate", "bound"),
        ("write-input", "inaccurate", "wrote to its own tensor 'x'"),
    ],
)
def test_fault_in_validation(tmp_path: Path, what: str, verdict: str, words: str) -> None:
    result, trials = run_misbehaving(tmp_path, f"{what}@ampgate-validate@float16")
    assert result.code == 1
    bad = trials["cast-fp16"]
    assert bad["verdict"] == verdict
    assert words in bad["reason"].lower() or words in bad["reason"]
    assert "time_ns" not in bad.get("measurement", {})
    for precision in OTHERS:
        assert trials[precision]["verdict"] == "pass", precision
        assert has_a_time(trials[precision]), precision
    assert verdict in result.out


@pytest.mark.parametrize(("what", "verdict"), [("segv", "baseline-invalid"), ("nan", "baseline-invalid")])
def test_fault_in_the_baseline_stops_the_case(tmp_path: Path, what: str, verdict: str) -> None:
    result, trials = run_misbehaving(tmp_path, f"{what}@ampgate-validate@float32")
    assert result.code == 1
    assert trials["fp32"]["verdict"] == {"segv": "crashed", "nan": "nonfinite"}[what]
    for precision in ("autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"):
        assert trials[precision]["verdict"] == verdict
        assert trials[precision]["reason"]
        assert "time_ns" not in trials[precision].get("measurement", {})


@pytest.mark.parametrize(
    ("what", "verdict"),
    [
        ("segv", "crashed"),
        ("hang", "timed-out"),
        ("exit0", "crashed"),
        ("throw", "crashed"),
        ("wrong:50", "output-changed"),
        ("wrong-under-load", "output-changed"),
        ("nan:50", "output-changed"),
        ("write-input:50", "output-changed"),
    ],
)
def test_fault_in_measurement(tmp_path: Path, what: str, verdict: str) -> None:
    result, trials = run_misbehaving(tmp_path, f"{what}@ampgate-bench@float16")
    assert result.code == 1
    bad = trials["cast-fp16"]
    assert bad["verdict"] == "pass"
    assert bad["measurement"]["verdict"] == verdict
    assert bad["measurement"]["reason"]
    assert "time_ns" not in bad["measurement"]
    assert "FP16 by conversion may not run: it failed when measured" in result.out
    for precision in OTHERS:
        assert has_a_time(trials[precision]), precision
    assert verdict in result.out


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("read", "aten::_local_scalar_dense reads a value"),
        ("threads", "/settings/threads went from 2 to 1"),
        ("leak", "bytes each of malloc that LibTorch's allocator was not asked for: a leak"),
        ("leak-tensors", "bytes each of LibTorch's allocator after their outputs are released: a leak of tensors"),
    ],
)
def test_what_the_case_does_not_declare_is_refused(tmp_path: Path, what: str, words: str) -> None:
    result, trials = run_misbehaving(tmp_path, f"{what}@ampgate-bench@float16", "--threads", "2")
    assert result.code == 1
    refused = trials["cast-fp16"]["measurement"]
    assert refused["verdict"] == "refused"
    assert words in refused["reason"]
    assert any(words in problem for problem in refused["audit"]["problems"])
    assert "samples" not in refused, "it is refused before it is timed"
    for precision in OTHERS:
        assert has_a_time(trials[precision]), precision


def test_a_refused_baseline_leaves_nothing_to_compare_with(tmp_path: Path) -> None:
    result, trials = run_misbehaving(tmp_path, "read@ampgate-bench@float32")
    assert result.code == 1
    assert "reads a value" in trials["fp32"]["measurement"]["reason"]
    assert trials["cast-bf16"]["measurement"]["verdict"] == "refused"
    assert "which was refused" in trials["cast-bf16"]["measurement"]["reason"]


def test_lost_processes_make_no_measured_number(tmp_path: Path) -> None:
    result, trials = run_misbehaving(tmp_path, "throw:40@ampgate-bench@float32")
    assert result.code == 1
    verdicts = {precision: trial["measurement"]["verdict"] for precision, trial in trials.items()}
    assert "crashed" in verdicts.values()
    for trial in trials.values():
        measurement = trial["measurement"]
        if measurement["verdict"] == "measured":
            assert len(measurement["samples"]) >= 21  # and those of disturbed blocks
        else:
            assert measurement["reason"]
