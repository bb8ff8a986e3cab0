"""Training loops that are put together wrongly: each is found, and its name stands in the reason.

The cases are those of tests/worker/training_misuse.cpp. What shows without a scaler already is the baseline's fault;
what only a scaler makes wrong is found in the trial that has one.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import TEST_WORKER, ampgate, records

Trials = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """By the misuse, then by precision."""
    folder = tmp_path_factory.mktemp("misuse")
    rules = folder / "rules.json"
    rules.write_text(json.dumps({"training": {"updates": 4, "seeds": 1, "shadow_steps": 1, "max_skipped_share": 0.5}}))
    result = ampgate(
        "validate", "--suite", "training", "--case", "misuse_*", "--worker", TEST_WORKER, "--rules", rules,
        "--archive", folder / "archive",
    )  # fmt: skip
    assert result.code == 1, result.err + result.out
    (record,) = records(folder / "archive")
    found: Trials = {}
    for trial in json.loads(record.read_text())["trials"]:
        found.setdefault(trial["case"].removeprefix("misuse_"), {})[trial["precision"]] = trial
    return found


CHANGED = "the gradient of 'in' is changed before it is unscaled, as clipping before unscale does"

WITH_SCALER = {
    "unscale_twice": "unscale_() has already been called on this optimizer since the last update().",
    "unscale_after_step": "unscale_() is being called after step().",
    "update_alone": "No inf checks were recorded prior to update.",
    "update_between": "optimizer 1 is stepped after update()",
    "update_forgotten": "the scaler's update() was not called",
    "backward_after_unscale": "adds scaled gradients to unscaled ones",
    "updated_by_hand": "'in' is updated (aten::add_) with a gradient that is still scaled",
    "updated_when_skipped": "weights change in a step whose gradients are not finite",
    "clip_before_unscale": "clipped before they are unscaled",
    "own_clip_before_unscale": "the gradient of 'in' is clipped (aten::mul_) before it is unscaled",
    "clamp_before_unscale": "the gradient of 'in' is clipped (aten::clamp_) before it is unscaled",
    "clip_in_its_memory": CHANGED,
    "clip_by_item": CHANGED,
    "clip_by_largest": CHANGED,
    "clip_by_another": CHANGED,
    "clip_by_data": CHANGED,
    "clip_by_copy": CHANGED,
    "clip_by_where": CHANGED,
    "clip_by_renorm": CHANGED,
    "noise_before_unscale": CHANGED,
    "clip_late": "at step 3 in FP32",
    "updated_by_a_copy": "'in' is updated in a way that depends on the scale",
    "schedule_when_skipped": "advances although its step was skipped",
    "own_schedule_when_skipped": "the learning rate of optimizer 0 was changed although its step was skipped",
}

WITHOUT = {
    "step_twice": "optimizer 0 is stepped twice",
    "never_stepped": "optimizer 1 was not stepped in any step",
    "second_never_stepped": "optimizer 1 was not stepped in any step",
    "zeroed_every_other_time": "zero_grad was forgotten",
    "clip_after_step": "are clipped after its step",
    "schedule_twice": "advances twice in one step",
    "negative_rate": "optimizer 0: Invalid learning rate: -0.01",
    "large_batch": "an effective batch has 80 rows, and 'x' only 64",
    "step_beside": "optimizer 0 was stepped beside the scaler's step: 2 updates",
    "half_parameters": "Attempting to unscale FP16 gradients.",
    "backward_in_autocast": "backward inside autocast",
    "own_backward_in_autocast": "backward inside autocast",
    "scaler_for_every_batch": "made anew for every batch",
    "no_zero_grad": "zero_grad was forgotten",
    "step_before_backward": "after backward of 0 of 1 micro-batches",
    "shared_parameter": "parameter 'in' is in two optimizers",
    "half_model": "weight 'in' is float16 as it was set up: a half model",
    "loss_without_gradient": "a scaler, or backward, in inference",
    "scaler_when_tried": "a gradient scaler in inference",
    "scaler_in_inference": "a gradient scaler in inference",
}


RIGHT = [
    "none", "none_by_hand", "none_centred", "none_by_scaled_limit", "none_take_turns", "none_take_turns_and_clear_one",
    "none_clip_never", "none_schedule_never",
]  # fmt: skip


def test_every_misuse_is_expected(trials: Trials) -> None:
    assert trials.keys() == {*WITH_SCALER, *WITHOUT, *RIGHT}


@pytest.mark.parametrize("misuse", WITH_SCALER)
def test_misuse_of_the_scaler(trials: Trials, misuse: str) -> None:
    trial = trials[misuse]["autocast-fp16"]
    assert trial["verdict"] == "inaccurate", trial["reason"]
    assert trial["reason"].startswith("misuse")
    assert WITH_SCALER[misuse] in trial["reason"]
    for precision in ("fp32", "autocast-bf16"):
        assert "misuse" not in trials[misuse][precision]["reason"], "there is no scaler"


@pytest.mark.parametrize("misuse", WITHOUT)
def test_misuse_that_fp32_shows(trials: Trials, misuse: str) -> None:
    baseline = trials[misuse]["fp32"]
    assert baseline["verdict"] == "baseline-invalid"
    assert WITHOUT[misuse] in baseline["reason"]
    assert "misuse" in baseline["reason"] or "the case itself is at fault" in baseline["reason"]
    for trial in trials[misuse].values():
        assert trial["verdict"] in ("baseline-invalid", "unsupported")


@pytest.mark.parametrize("case", RIGHT)
def test_a_loop_that_is_right_is_not_accused(trials: Trials, case: str) -> None:
    assert trials[case]["fp32"]["verdict"] == "pass", trials[case]["fp32"]["reason"]
    for precision in ("autocast-fp16", "autocast-bf16"):
        trial = trials[case][precision]
        assert trial["verdict"] in ("pass", "ambiguous"), trial["reason"]
        assert "misuse" not in trial["reason"]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("none_clip_never", "clip_norm is 1e-06, and no step clips: gradients of norm"),
        ("none_schedule_never", "schedule 0 is not advanced in any step"),
    ],
)
def test_what_no_step_uses_is_a_finding(trials: Trials, case: str, words: str) -> None:
    for precision in ("fp32", "autocast-fp16", "autocast-bf16"):
        found = [one["text"] for one in trials[case][precision]["findings"] if one["verdict"] == "unused"]
        assert any(words in text for text in found), trials[case][precision]["findings"]
    assert not [one for one in trials["none"]["fp32"]["findings"] if one["verdict"] == "unused"]
