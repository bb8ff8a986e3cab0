"""Training steps in phase 2: what an applied update costs, skipped steps, and steps that turn wrong.

The case is that of tests/worker/misbehave_training.cpp: one of its rows overflows FP16, so that FP16 skips steps.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import BUILD, TEST_WORKER, Result, ampgate, has_a_time, records
from jsonschema import Draft202012Validator

PRECISIONS = ("fp32", "autocast-fp16", "autocast-bf16")
UPDATES, FIRST = 20, 9
DEEP = pytest.mark.deep
# Faults show in one short process as they do in three.
SHORT = ("--processes", "1")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    # Two seeds say little about quality, which is not what is tested here.
    path.write_text(
        json.dumps({"trial_limit_s": 20, "training": {"updates": UPDATES, "seeds": 3, "max_rmse_ratio": 2}})
    )
    return path


def run_training(
    archive: Path, rules: Path, *arguments: str | Path, request: str = ""
) -> tuple[Result, dict[str, Any]]:
    """The record's trials by precision."""
    if "bench" not in arguments:
        arguments = ("run", "--suite", "smoke", "--case", "train_misbehave", *arguments)
    result = ampgate(
        *arguments, "--worker", TEST_WORKER, "--archive", archive, "--rules", rules, env={"AMPGATE_MISBEHAVE": request}
    )
    assert records(archive), result.err
    trials = json.loads(records(archive)[-1].read_text())["trials"]
    return result, {trial["precision"]: trial for trial in trials}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory, rules: Path) -> tuple[Path, dict[str, Any]]:
    archive = tmp_path_factory.mktemp("right")
    result, trials = run_training(archive, rules, "--latency")
    assert result.fine, result.err + result.out
    (path,) = records(archive)
    return path, trials


def kept(measurement: dict[str, Any]) -> list[list[Any]]:
    """Samples of the cells that count."""
    return [row for row in measurement["samples"] if not row[5].get("left_out")]


def totals(measurement: dict[str, Any]) -> tuple[int, int]:
    """Steps and applied updates."""
    rows = kept(measurement)
    return sum(row[3] for row in rows), sum(row[5]["applied"] for row in rows)


def test_steps_and_updates_are_timed(right: tuple[Path, dict[str, Any]]) -> None:
    _, trials = right
    for precision in PRECISIONS:
        assert has_a_time(trials[precision]), precision
        measurement = trials[precision]["measurement"]
        training = measurement["training"]
        assert training["first_step"] == FIRST
        assert training["steps"] == UPDATES - FIRST
        assert measurement["output_check"] == "digest"
        assert measurement["audit"]["problems"] == []
        assert (training["iterations"], training["applied_updates"]) == totals(measurement)
        factor = training["iterations"] / training["applied_updates"]
        per_update = training["time_per_applied_update_ns"]
        assert per_update["median"] == pytest.approx(factor * measurement["time_ns"]["median"])
        assert per_update["interval"] == pytest.approx([factor * end for end in measurement["time_ns"]["interval"]])
        assert measurement["memory"]["optimizer_bytes"] == measurement["memory"]["weight_bytes"], "the momentum"
    fp32, fp16, bf16 = (trials[precision]["measurement"]["training"] for precision in PRECISIONS)
    assert fp32["applied_updates"] == fp32["iterations"]
    assert fp32["reads"].startswith("none")
    assert fp16["reads"].startswith("found_inf of each optimizer (1 a step)")
    assert bf16["reads"].startswith("none")


def test_skipped_steps_are_paid_for(right: tuple[Path, dict[str, Any]]) -> None:
    _, trials = right
    measurement = trials["autocast-fp16"]["measurement"]
    training = measurement["training"]
    stepped = trials["autocast-fp16"]["training"]["steps"]["stepped"][FIRST:]
    assert [False] in stepped, "else this test shows nothing"
    # Every cell begins after its lead-in, which is one step of so few.
    for row in measurement["samples"]:
        assert row[5]["applied"] == sum(one[0] for one in stepped[1 : 1 + row[3]])
    assert 0 < training["applied_updates"] < training["iterations"]
    skipped = training["iterations"] - training["applied_updates"]
    assert f"{skipped} of the {training['iterations']} timed steps applied no update" in training["in_words"]
    factor = training["iterations"] / training["applied_updates"]
    assert training["fp16_to_bf16"]["value"] == pytest.approx(factor * measurement["fp16_to_bf16"]["value"])
    assert training["speedup_over_fp32"]["value"] == pytest.approx(measurement["speedup_over_fp32"]["value"] / factor)


def test_single_steps_are_timed_too(right: tuple[Path, dict[str, Any]]) -> None:
    _, trials = right
    for precision in PRECISIONS:
        latency = trials[precision]["variants"]["latency"]
        assert (latency["training"]["iterations"], latency["training"]["applied_updates"]) == totals(latency)
        assert latency["latency"]["calls"] == sum(len(row[5]["call_times_ns"]) for row in kept(latency))


@pytest.fixture(scope="module")
def again(
    right: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory, rules: Path
) -> tuple[Result, Path]:
    """Phase 2 alone, from the evidence of `right`."""
    archive = tmp_path_factory.mktemp("again")
    result, _ = run_training(archive, rules, "bench", "--evidence", right[0])
    assert result.fine, result.err + result.out
    (path,) = records(archive)
    return result, path


def test_the_table_and_the_answer_say_what_an_update_costs(again: tuple[Result, Path]) -> None:
    result, path = again
    trials = {trial["precision"]: trial for trial in json.loads(path.read_text())["trials"]}
    training = trials["autocast-fp16"]["measurement"]["training"]
    assert has_a_time(trials["autocast-fp16"])
    assert f"{training['applied_updates']} of {training['iterations']}" in result.out
    assert "an applied update" in result.out
    if all(trials[precision]["measurement"]["verdict"] == "measured" for precision in PRECISIONS):
        sentence = r"An applied update of train_misbehave/batch8 takes .* in fp32, .* in autocast-fp16 \("
        assert re.search(sentence, result.out)


def test_records_of_trainings_can_be_compared(right: tuple[Path, dict[str, Any]], again: tuple[Result, Path]) -> None:
    result = ampgate("compare", right[0], again[1], "--json")
    comparison = json.loads(result.out)
    assert {trial["id"] for trial in comparison["trials"]} == {f"train_misbehave/batch8/{name}" for name in PRECISIONS}
    for trial in comparison["trials"]:
        assert "refused" not in trial
        assert trial["time"]["verdict"] in ("same", "slower", "faster", "ambiguous")


def test_the_record_fits_its_schema(right: tuple[Path, dict[str, Any]]) -> None:
    schema = json.loads((BUILD / "share" / "ampgate" / "schema" / "record.schema.json").read_text())
    errors = list(Draft202012Validator(schema).iter_errors(json.loads(right[0].read_text())))
    assert not errors, errors[0].message


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("wrong:40", "steps the weights have digest"),
        pytest.param("wrong", "before anything was timed, after 9 steps the weights have digest", marks=DEEP),
        pytest.param("nan:40", "steps the weights have digest", marks=DEEP),
    ],
)
def test_a_step_that_turns_wrong_has_no_time(tmp_path: Path, rules: Path, request_: str, words: str) -> None:
    result, trials = run_training(tmp_path, rules, *SHORT, request=f"{request_}@ampgate-bench@bfloat16")
    assert result.code == 1
    bad = trials["autocast-bf16"]
    assert bad["verdict"] == "pass"
    assert bad["measurement"]["verdict"] == "output-changed"
    assert words in bad["measurement"]["reason"]
    assert "time_ns" not in bad["measurement"]
    for precision in ("fp32", "autocast-fp16"):
        assert has_a_time(trials[precision]), precision


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("read@ampgate-bench@float16", "aten::item reads a value 2 times, 1 of them found_inf"),
        pytest.param("make@ampgate-bench@float16", "the body itself calls aten::clone", marks=DEEP),
    ],
)
def test_what_a_loss_does_beside_is_refused(tmp_path: Path, rules: Path, request_: str, words: str) -> None:
    result, trials = run_training(tmp_path, rules, *SHORT, request=request_)
    assert result.code == 1
    refused = trials["autocast-fp16"]["measurement"]
    assert refused["verdict"] == "refused"
    assert words in refused["reason"]
    assert has_a_time(trials["fp32"])


@pytest.mark.deep
@pytest.mark.parametrize(("request_", "verdict"), [("throw:30", "crashed"), ("hang:30", "timed-out")])
def test_a_step_that_fails_has_no_time(tmp_path: Path, rules: Path, request_: str, verdict: str) -> None:
    limits = json.loads(rules.read_text()) | {"trial_limit_s": 3.0}
    short = tmp_path / "rules.json"
    short.write_text(json.dumps(limits))
    result, trials = run_training(tmp_path, short, *SHORT, request=f"{request_}@ampgate-bench@bfloat16")
    assert result.code == 1
    assert trials["autocast-bf16"]["measurement"]["verdict"] == verdict
    assert "time_ns" not in trials["autocast-bf16"]["measurement"]


def altered(source: Path, target: Path, trial: str, pointer: list[str | int], value: object) -> Path:
    """A record whose evidence was changed and whose digest is right all the same."""
    record = json.loads(source.read_text())
    (entry,) = [entry for entry in record["trials"] if entry["precision"] == trial]
    place: Any = entry["evidence"]
    for key in pointer[:-1]:
        place = place[key]
    place[pointer[-1]] = value
    record["digest"] = 64 * "0"
    text = json.dumps(record)
    target.write_text(text.replace(64 * "0", hashlib.sha256(text.encode()).hexdigest()))
    return target


@pytest.mark.parametrize(
    ("pointer", "value", "verdict", "words"),
    [
        (["training", "weights", 11], 32 * "0", "output-changed", "after 20 steps the weights have digest"),
        pytest.param(["training", "held_out"], 32 * "0", "output-changed", "outputs on held-out data", marks=DEEP),
        pytest.param(["training", "first_step"], 8, "output-changed", "after 8 steps the weights", marks=DEEP),
        pytest.param(["inputs", "x"], 32 * "0", "refused", "/inputs/x", marks=DEEP),
    ],
)
def test_altered_evidence_carries_no_time(
    right: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    rules: Path,
    pointer: list[str | int],
    value: object,
    verdict: str,
    words: str,
) -> None:
    source = altered(right[0], tmp_path / "altered.json", "autocast-bf16", pointer, value)
    result, trials = run_training(tmp_path / "archive", rules, "bench", "--evidence", source, *SHORT)
    assert result.code == 1, result.err + result.out
    measurement = trials["autocast-bf16"]["measurement"]
    assert measurement["verdict"] == verdict
    assert words in measurement["reason"]
    assert "time_ns" not in measurement
    assert has_a_time(trials["fp32"])


def test_one_update_is_too_few_to_time(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"training": {"updates": 1, "seeds": 3, "shadow_steps": 1, "max_rmse_ratio": 10}}))
    result, trials = run_training(tmp_path, rules, "--precision", "fp32", *SHORT)
    assert result.code == 1
    assert trials["fp32"]["measurement"]["verdict"] == "refused"
    assert "/training/updates: 2 at least" in trials["fp32"]["measurement"]["reason"]
