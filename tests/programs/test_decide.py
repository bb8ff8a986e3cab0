"""`ampgate decide`: which of FP16, BF16 and FP32 a record speaks for, from records whose answers are known."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ampgate, records

SLOW = {"value": 0.5, "interval": [0.48, 0.52], "level": 0.95}
EVEN = {"value": 1.003, "interval": [0.98, 1.02], "level": 0.95}
FAST = {"value": 2.0, "interval": [1.9, 2.1], "level": 0.95}
FASTER = {"value": 3.0, "interval": [2.9, 3.1], "level": 0.95}


@pytest.fixture(scope="module")
def whole(fake_worker: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    archive = tmp_path_factory.mktemp("whole")
    result = ampgate(
        "run", "--suite", "smoke", "--case", "matmul", "--worker", fake_worker, "--archive", archive,
        env={"FAKE_WORKER": "[]"},
    )  # fmt: skip
    assert result.code == 0, result.err
    return json.loads(records(archive)[0].read_text())


def seal(record: dict[str, Any], path: Path) -> Path:
    """As ampgate writes it: the SHA-256 of its own bytes with the digits as zeros."""
    record["digest"] = "0" * 64
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text.replace("0" * 64, digest, 1))
    return path


def given(whole: dict[str, Any], path: Path, trials: dict[str, dict[str, Any]], ratio: dict[str, Any] | None) -> Path:
    """The record with other verdicts, speed-ups and decisions, by precision."""
    record = json.loads(json.dumps(whole))
    for trial in record["trials"]:
        change = trials.get(trial["precision"], {})
        if "verdict" in change:
            trial["verdict"], trial["reason"] = change["verdict"], "for a test"
            trial.pop("measurement", None)
        measured = trial.get("measurement", {})
        measured.pop("fp16_to_bf16", None)
        if ratio is not None and trial["precision"] != "fp32" and "measurement" in trial:
            measured["fp16_to_bf16"] = ratio
        if "speedup" in change and "measurement" in trial:
            measured["speedup_over_fp32"] = change["speedup"]
        if "flips" in change:
            trial["decisions"] = {"kind": "argmax", "rows": 100, "flips": change["flips"], "lost": 0, "defects": 0}
    return seal(record, path)


def decided(path: Path) -> dict[str, Any]:
    result = ampgate("decide", path, "--json")
    assert result.code == 0, result.err
    (entry,) = result.json()
    return entry


BOTH = {"autocast-fp16": {"speedup": EVEN}, "autocast-bf16": {"speedup": EVEN}}


@pytest.mark.parametrize(
    ("trials", "ratio", "precision", "words"),
    [
        # FP16 takes half of BF16's time, both are faster than FP32.
        ({"cast-fp16": {"speedup": FASTER}, "cast-bf16": {"speedup": FAST}},
         {"value": 0.67, "interval": [0.65, 0.69]}, "cast-fp16", "BF16 by conversion is slower, at 2"),
        ({"cast-fp16": {"speedup": FAST}, "cast-bf16": {"speedup": FASTER}},
         {"value": 1.5, "interval": [1.4, 1.6]}, "cast-bf16", "FP16 by conversion is slower, at 2"),
        # Not shown to differ: decisions, then the range.
        ({"cast-fp16": {"speedup": FAST, "flips": 1}, "cast-bf16": {"speedup": FAST, "flips": 3}},
         {"value": 1.0, "interval": [0.97, 1.03]}, "cast-fp16", "changes more decisions"),
        ({"cast-fp16": {"speedup": FAST}, "cast-bf16": {"speedup": FAST}},
         {"value": 1.0, "interval": [0.97, 1.03]}, "cast-bf16", "smaller range"),
        # One may not run.
        ({"cast-fp16": {"verdict": "inaccurate"}, "autocast-fp16": {"verdict": "nonfinite"},
          "cast-bf16": {"speedup": FAST}}, None, "cast-bf16", "FP16 may not run"),
        ({"cast-bf16": {"verdict": "inaccurate"}, "autocast-bf16": {"verdict": "crashed"},
          "cast-fp16": {"speedup": FAST}}, None, "cast-fp16", "BF16 may not run"),
        # No gain, and none at all.
        ({"cast-fp16": {"speedup": SLOW}, "cast-bf16": {"speedup": EVEN}},
         {"value": 2.0, "interval": [1.9, 2.1]}, "fp32", "no gain in time is shown"),
        ({"cast-fp16": {"speedup": SLOW}, "autocast-fp16": {"speedup": SLOW},
          "cast-bf16": {"speedup": SLOW}, "autocast-bf16": {"speedup": SLOW}},
         {"value": 1.0, "interval": [0.97, 1.03]}, "fp32", "is slower"),
        ({name: {"verdict": "inaccurate"} for name in ("cast-fp16", "cast-bf16", "autocast-fp16", "autocast-bf16")},
         None, "fp32", "neither FP16 nor BF16 may run"),
    ],
)  # fmt: skip
def test_recommendation(
    whole: dict[str, Any], tmp_path: Path, trials: dict[str, Any], ratio: Any, precision: str, words: str  # noqa: ANN401
) -> None:
    entry = decided(given(whole, tmp_path / "r.json", {**BOTH, **trials}, ratio))
    assert entry["recommendation"]["precision"] == precision, entry["recommendation"]
    assert words in entry["recommendation"]["in_words"]


@pytest.mark.parametrize("verdict", ["inaccurate", "baseline-invalid", "crashed"])
def test_nothing_is_recommended_where_fp32_itself_may_not_run(
    whole: dict[str, Any], tmp_path: Path, verdict: str
) -> None:
    """The others' verdicts rest on it, and it is none to fall back to."""
    for others in (BOTH, {name: {"verdict": "baseline-invalid"} for name in (*BOTH, "cast-fp16", "cast-bf16")}):
        entry = decided(given(whole, tmp_path / "r.json", {**others, "fp32": {"verdict": verdict}}, None))
        assert "precision" not in entry["recommendation"]
        assert f"FP32, which all is held against, is {verdict}" in entry["recommendation"]["in_words"]


def test_quality_and_islands_in_words(whole: dict[str, Any], tmp_path: Path) -> None:
    record = json.loads(json.dumps(whole))
    trials = {trial["precision"]: trial for trial in record["trials"]}
    trials["cast-fp16"]["decisions"] = {
        "kind": "argmax", "rows": 200, "flips": 3, "lost": 1, "defects": 0,
        "accuracy": {"rows": 200, "oracle": 0.98, "baseline": 0.98, "trial": 0.975},
    }  # fmt: skip
    trials["cast-bf16"]["decisions"] = {"regression": {"rows": 9, "against_targets": {
        "trial": {"rmse": 0.5}, "baseline": {"rmse": 0.5}}}}  # fmt: skip
    trials["cast-fp16"]["islands"] = {"needed": True, "regions": ["a"], "all_regions": ["a", "b", "c"]}
    for name in ("cast-fp16", "cast-bf16"):
        trials[name]["measurement"]["speedup_over_fp32"] = FASTER
    for name in BOTH:
        trials[name]["measurement"]["speedup_over_fp32"] = SLOW
    path = seal(record, tmp_path / "r.json")
    out = ampgate("decide", path).out
    for words in ("4 of 200", "accuracy 0.975 (fp32 0.98)", "RMSE 0.5, as fp32", "cast (1 of 3 in FP32)"):
        assert words in out
    (row,) = csv.DictReader(io.StringIO(ampgate("decide", path, "--csv").out))
    assert (row["fp16_accuracy"], row["bf16_rmse"], row["fp16_islands"]) == ("0.975", "0.5", '["a"]')


def test_the_fastest_way_of_each_type(whole: dict[str, Any], tmp_path: Path) -> None:
    trials = {
        "autocast-fp16": {"speedup": FASTER}, "cast-fp16": {"speedup": FAST},
        "autocast-bf16": {"speedup": EVEN}, "cast-bf16": {"speedup": FAST},
    }  # fmt: skip
    entry = decided(given(whole, tmp_path / "r.json", trials, {"value": 0.5, "interval": [0.4, 0.6]}))
    assert entry["fp16"]["precision"] == "autocast-fp16"
    assert entry["bf16"]["precision"] == "cast-bf16"
    # Autocast against conversion: these were never paired.
    assert "fp16_to_bf16" not in entry
    assert "not measured the same way" in entry["absent"]["fp16_to_bf16"]
    assert entry["recommendation"]["precision"] == "autocast-fp16", "their intervals lie apart"


def test_numbers_are_the_records(whole: dict[str, Any], tmp_path: Path) -> None:
    path = seal(whole, tmp_path / "r.json")
    entry = decided(path)
    trials = {trial["precision"]: trial for trial in whole["trials"]}
    for way in (entry["fp16"], entry["bf16"]):
        trial = trials[way["precision"]]
        assert way["margin"] == trial["accuracy"]["kernel_error"]["margin"]
        assert way["speedup_over_fp32"]["value"] == trial["measurement"]["speedup_over_fp32"]["value"]
        assert way["speedup_over_fp32"]["interval"] == trial["measurement"]["speedup_over_fp32"]["interval"]
        peak = trial["measurement"]["memory"]["peak_bytes"]
        assert way["memory_to_fp32"] == peak / trials["fp32"]["measurement"]["memory"]["peak_bytes"]


def test_several_devices_side_by_side(whole: dict[str, Any], tmp_path: Path) -> None:
    other = json.loads(json.dumps(whole))
    other["device"]["model"] = 'Another, "better" CPU'
    other["id"] = "20260101T000000Z-0000000a"
    paths = [seal(whole, tmp_path / "a.json"), seal(other, tmp_path / "b.json")]
    text = ampgate("decide", *paths)
    assert text.code == 0, text.err
    assert 'Another, "better" CPU' in text.out
    assert whole["id"] not in text.out, "each device has one record"
    again = seal(json.loads(json.dumps(whole)) | {"id": "20260101T000000Z-0000000b"}, tmp_path / "c.json")
    both = ampgate("decide", paths[0], again).out
    for name in (whole["id"], "20260101T000000Z-0000000b"):
        assert any(name in line and line.startswith("matmul ") for line in both.splitlines())
        assert f"Fake CPU, {name}: 1 " in both, "each has its own count"
    rows = list(csv.DictReader(io.StringIO(ampgate("decide", *paths, "--csv").out)))
    assert [row["model"] for row in rows] == ["Fake CPU", 'Another, "better" CPU']
    assert rows[0]["recommended"] == decided(paths[0])["recommendation"]["precision"]
    assert float(rows[0]["fp16_margin"]) == decided(paths[0])["fp16"]["margin"]


def test_a_record_without_measurements(fake_worker: Path, tmp_path: Path) -> None:
    ampgate(
        "validate", "--suite", "smoke", "--case", "matmul", "--worker", fake_worker, "--archive", tmp_path,
        env={"FAKE_WORKER": "[]"},
    )  # fmt: skip
    entry = decided(records(tmp_path)[0])
    assert "precision" not in entry["recommendation"]
    assert "not measured" in entry["recommendation"]["in_words"]


def test_bad_usage(whole: dict[str, Any], tmp_path: Path) -> None:
    path = seal(whole, tmp_path / "r.json")
    both = ampgate("decide", path, "--json", "--csv")
    assert (both.code, "excludes" in both.err) == (2, True), both.err
    folder = ampgate("decide", tmp_path)
    assert (folder.code, f"{tmp_path}: is a folder" in folder.err) == (2, True), folder.err
    twice = ampgate("decide", path, path, "--json")
    assert len(twice.json()) == 1
    assert "counted once" in twice.err
    assert ampgate("decide").code == 2
    (tmp_path / "x.json").write_text("{}")
    result = ampgate("decide", tmp_path / "x.json")
    assert result.code == 2
    assert "not a record" in result.err
