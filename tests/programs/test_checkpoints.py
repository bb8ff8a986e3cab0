"""Trainings that fail keep a checkpoint before the batch that did it; from there they are replayed and resumed."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, TEST_WORKER, Result, ampgate, journals, records
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from test_run import SCHEMA, forged

RULES = {
    "ampgate_rules": 1,
    "training": {"updates": 8, "seeds": 3, "shadow_steps": 1},
    "measurement": {"processes": 1, "min_blocks": 6, "cell_time_ms": 1.0},
}
FP16 = "train_late_overflow/batch16/autocast-fp16"
BAD_STEP = 5  # tests/worker/training_overflow.cpp


def validate(archive: Path, case: str = "train_late_overflow", **more: Any) -> Result:  # noqa: ANN401
    rules = archive / "rules.json"
    archive.mkdir(exist_ok=True)
    rules.write_text(json.dumps(RULES))
    selection = ["--suite", "training", "--case", case, "--precision", "autocast-fp16"]
    return ampgate("validate", *selection, "--rules", rules, "--archive", archive, "--worker", TEST_WORKER, **more)


def trial(record: Path, name: str = FP16) -> dict[str, Any]:
    (found,) = [entry for entry in json.loads(record.read_text())["trials"] if entry["id"] == name]
    return found


def reproduce(record: Path, *options: str | Path, name: str = FP16, **more: Any) -> Result:  # noqa: ANN401
    return ampgate("reproduce", record, name, "--worker", TEST_WORKER, *options, **more)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a training that overflows in FP16. Only read."""
    archive = tmp_path_factory.mktemp("failed")
    assert validate(archive).code == 1
    (record,) = records(archive)
    return record


@pytest.fixture
def copied(failed: Path, tmp_path: Path) -> Path:
    """The same in another place, to be damaged."""
    shutil.copytree(failed.parent, tmp_path / "copied")
    return tmp_path / "copied" / failed.name


def place(record: Path, name: str) -> Path:
    return record.parent / trial(record)["checkpoints"][name]["folder"]


def test_the_record_names_checkpoints_and_batch(failed: Path) -> None:
    kept = trial(failed)["checkpoints"]
    assert kept["before_bad"]["step"] == trial(failed)["training"]["bad_step"] == BAD_STEP
    assert kept["before_bad"]["loss"] == "inf"
    for name, step in (("start", 0), ("before_bad", BAD_STEP)):
        document = json.loads((place(failed, name) / "checkpoint.json").read_text())
        assert document["digest"] == kept[name]["digest"]
        assert document["state"]["iteration"] == step
        assert document["state"]["precision"] == "autocast-fp16"
        assert document["state"]["run"]["build_id"] == trial(failed)["evidence"]["build_id"]
    passed = trial(failed, "train_late_overflow/batch16/fp32")["checkpoints"]
    assert set(passed) == {"start", "absent"}
    assert set(passed["absent"]) == {"before_bad"}


def test_documents_fit_their_schemas(failed: Path) -> None:
    schemas = [json.loads(file.read_text()) for file in SCHEMA.glob("*.json")]
    registry = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
    for name, file in (("record", failed), ("checkpoint", place(failed, "before_bad") / "checkpoint.json")):
        wanted = {"$ref": f"https://ampgate.example/schema/1/{name}.schema.json"}
        errors = Draft202012Validator(wanted, registry=registry).iter_errors(json.loads(file.read_text()))
        assert not [f"{error.json_path}: {error.message}" for error in errors]


def test_exactly_that_batch_is_replayed(failed: Path) -> None:
    result = reproduce(failed, "--json")
    assert result.code == 0, result.err
    answer = result.json()
    assert answer["same"] and answer["same_loss"] and answer["same_first_bad"]
    assert answer["resumed"]["iteration"] == BAD_STEP
    assert answer["resumed"]["losses"] == ["inf"]
    assert answer["resumed"]["first_bad"] == trial(failed)["explanation"]["first_bad"]
    assert answer["resumed"]["first_bad"]["operator"] == "aten::linear"
    words = reproduce(failed).out
    assert "step 5" in words
    assert "aten::linear" in words
    assert words.count("same as in the record") == 2


def test_the_run_says_how_to_replay(tmp_path: Path) -> None:
    said = validate(tmp_path).out
    (line,) = [line for line in said.splitlines() if "That batch again: " in line]
    assert line.startswith(f"Step {BAD_STEP} made {FP16} fail.")
    words = shlex.split(line.split("That batch again: ")[1])
    assert words[0] == "ampgate"
    assert words[words.index("--worker") + 1] == str(TEST_WORKER)
    assert ampgate(*words[1:]).code == 0, "as it is printed"


def test_a_moved_archive_replays(copied: Path) -> None:
    assert reproduce(copied).code == 0


def test_after_a_new_build_the_batch_is_replayed_all_the_same(copied: Path) -> None:
    def of_another_build(record: dict[str, Any]) -> None:
        record["environment"]["worker"]["build_id"] = "0" * 64
        for entry in record["trials"]:
            entry["evidence"]["build_id"] = "0" * 64

    resealed(place(copied, "before_bad"), lambda state: state["run"].update(build_id="0" * 64))
    kept = json.loads((place(copied, "before_bad") / "checkpoint.json").read_text())

    def fits(record: dict[str, Any]) -> None:
        of_another_build(record)
        (found,) = [entry for entry in record["trials"] if entry["id"] == FP16]
        found["checkpoints"]["before_bad"]["digest"] = kept["digest"]

    record = forged(copied, copied.parent / "forged.json", fits)
    result = reproduce(record)
    assert result.code == 0, result.err
    assert "another build" in result.out
    assert reproduce(record, "--from", place(copied, "before_bad")).code == 2, "bits are promised by one build alone"


def test_resumed_training_goes_on_bitwise(failed: Path, tmp_path: Path) -> None:
    first = reproduce(failed, "--from", place(failed, "start"), "--steps", "3", "--keep", tmp_path / "middle", "--json")
    assert first.code == 0, first.err
    rest = reproduce(failed, "--from", tmp_path / "middle", "--steps", "5", "--json")
    assert rest.code == 0, rest.err
    steps = trial(failed)["training"]["steps"]
    assert first.json()["resumed"]["steps"]["weights"] == steps["weights"][:3]
    assert rest.json()["resumed"]["steps"]["weights"] == steps["weights"][3:]
    assert rest.json()["resumed"]["steps"]["scale"] == steps["scale"][3:]
    assert (first.json()["compared_steps"], rest.json()["compared_steps"]) == (3, 5)
    assert rest.json()["resumed"]["scaler"] == "resumed"


def test_steps_beyond_the_record_are_not_compared(failed: Path, tmp_path: Path) -> None:
    middle = tmp_path / "end"
    whole = reproduce(failed, "--from", place(failed, "start"), "--steps", "10", "--keep", middle, "--json").json()
    assert whole["same"] and whole["compared_steps"] == RULES["training"]["updates"]
    later = reproduce(failed, "--from", middle, "--json")
    assert later.code == 0
    assert "same" not in later.json()
    assert "same" in later.json()["absent"]


def test_another_precision_must_be_asked_for_and_is_recorded(failed: Path, tmp_path: Path) -> None:
    refused = reproduce(failed, "--from", place(failed, "before_bad"), name="train_late_overflow/batch16/fp32")
    assert refused.code == 2
    assert '"autocast-fp16"' in refused.err
    assert '"fp32"' in refused.err
    assert "--precision" in refused.err
    options = [
        "--from",
        place(failed, "before_bad"),
        "--precision",
        "fp32",
        "--steps",
        "2",
        "--keep",
        tmp_path / "kept",
    ]
    asked = reproduce(failed, *options, "--json")
    assert asked.code == 0, asked.err
    resumed = asked.json()["resumed"]
    (change,) = resumed["changes"]
    assert change["iteration"] == BAD_STEP
    assert (change["from"]["precision"], change["to"]["precision"]) == ("autocast-fp16", "fp32")
    assert "bad_step" not in resumed, "FP32 heals it"
    state = json.loads((tmp_path / "kept" / "checkpoint.json").read_text())["state"]
    assert state["changes"] == [change]
    assert "scaler" not in state
    back = reproduce(failed, "--from", tmp_path / "kept", "--precision", "autocast-fp16")
    assert "scaler starts anew" in back.out
    assert back.out.count("changed before step") == 2


def damaged(record: Path, how: str) -> Path:
    """A checkpoint before the bad batch with that damage."""
    folder = place(record, "before_bad")
    tensors, document = folder / "tensors.safetensors", folder / "checkpoint.json"
    if how == "missing":
        shutil.rmtree(folder)
    elif how == "truncated tensors":
        os.truncate(tensors, tensors.stat().st_size // 2)
    elif how == "no tensors":
        tensors.unlink()
    elif how == "corrupted tensors":
        content = bytearray(tensors.read_bytes())
        content[-1] ^= 1
        tensors.write_bytes(content)
    elif how == "truncated document":
        os.truncate(document, document.stat().st_size // 2)
    elif how == "empty document":
        document.write_text("")
    elif how == "altered document":
        document.write_text(document.read_text().replace('"iteration":5', '"iteration":4'))
    elif how == "another checkpoint":
        shutil.rmtree(folder)
        shutil.copytree(place(record, "start"), folder)
    elif how == "a file":
        shutil.rmtree(folder)
        folder.write_text("{}")
    return folder


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("missing", "it is not there"),
        ("truncated tensors", "truncated"),
        ("no tensors", "tensors.safetensors"),
        ("corrupted tensors", "altered"),
        ("truncated document", "checkpoint.json"),
        ("empty document", "checkpoint.json"),
        ("altered document", "checkpoint.json"),
        ("another checkpoint", "another checkpoint"),
        ("a file", "not a folder"),
    ],
)
def test_bad_checkpoints_are_refused(copied: Path, how: str, words: str) -> None:
    folder = damaged(copied, how)
    for options in ([], ["--from", folder]) if how != "another checkpoint" else ([],):
        result = reproduce(copied, *options)
        assert result.code == 2, result.out + result.err
        assert str(folder) in result.err
        if not options:
            assert words in result.err


def resealed(folder: Path, change: Any) -> None:  # noqa: ANN401
    """Writes a changed checkpoint.json that fits its own digest."""
    document = json.loads((folder / "checkpoint.json").read_text())
    change(document["state"])
    document["digest"] = "0" * 64
    text = json.dumps(document, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "checkpoint.json").write_text(text.replace("0" * 64, digest, 1))


@pytest.mark.parametrize(
    ("pointer", "value", "words"),
    [
        (["case"], "train_throws", ["case", "train_throws", "train_late_overflow"]),
        (["shape"], "batch32", ["shape", "batch32", "batch16"]),
        (["seed"], 2, ["seed", "2", "1"]),
        (["run", "build_id"], "f" * 64, ["build_id", "f" * 64, "--worker"]),
        (["run", "inputs", "x"], "0" * 32, ["inputs/x", "AMPGATE_DATA"]),
        (["configuration", "clip_norm"], 1.0, ["clip_norm", "1.0", "0.0"]),
        (["iteration"], "five", ["iteration", "five"]),
        (["optimizers"], [], ["optimizers", "array of 1"]),
    ],
)
def test_foreign_checkpoints_are_refused(copied: Path, pointer: list[str], value: object, words: list[str]) -> None:
    def change(state: dict[str, Any]) -> None:
        for key in pointer[:-1]:
            state = state[key]
        state[pointer[-1]] = value

    resealed(place(copied, "before_bad"), change)
    foreign = reproduce(copied, "--from", place(copied, "before_bad"))
    assert foreign.code == 2, foreign.out + foreign.err
    assert all(word in foreign.err for word in words), foreign.err
    assert reproduce(copied).code == 2, "it is not the one that the record names"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--steps", "3"], "--from"),
        (["--keep", "x"], "--from"),
        (["--precision", "fp32"], "--from"),
        (["--from", "nowhere"], "nowhere"),
        (["--from", "start", "--steps", "0"], "--steps"),
        (["--from", "start", "--precision", "fp8"], "fp8"),
        (["--from", "start", "--precision", "cast-fp16"], "cast-fp16"),
        (["--from", "start", "--precision", "fp32,autocast-bf16"], "one precision"),
    ],
)
def test_bad_usage(failed: Path, options: list[str], words: str, tmp_path: Path) -> None:
    shutil.copytree(place(failed, "start"), tmp_path / "start")
    result = reproduce(failed, *options, cwd=tmp_path)
    assert result.code == 2, result.out + result.err
    assert words in result.err


def judged_by_hand(record: Path, checkpoints: Path) -> dict[str, Any]:
    """What the worker says of the trial when it is told to keep its checkpoints there."""
    of_record = json.loads(record.read_text())
    trials = [
        {"id": entry["id"], "case": entry["case"], "shape": [16], "precision": entry["precision"]}
        for entry in of_record["trials"]
    ]
    plan = {
        "ampgate_plan": 1, "phase": "validate", "run_id": "by-hand", "process": 0,
        "build_id": trial(record)["evidence"]["build_id"],
        **{key: of_record["plan"][key] for key in ("device", "seed", "settings")},
        **{key: of_record[key] for key in ("rules", "rules_sha256")},
        "checkpoints": str(checkpoints), "trials": trials,
    }  # fmt: skip
    command = [TEST_WORKER / "ampgate-validate", "--events", "-"]
    done = subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (event,) = [event for event in events if event["event"] == "trial_finished" and event["id"] == FP16]
    return event


def test_a_folder_that_cannot_be_made_costs_no_verdict(failed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    event = judged_by_hand(failed, tmp_path / "file" / "x.checkpoints")
    assert (event["verdict"], event["reason"]) == (trial(failed)["verdict"], trial(failed)["reason"])
    assert set(event["checkpoints"]) == {"absent"}
    for name in ("start", "before_bad"):
        assert "Not a directory" in event["checkpoints"]["absent"][name]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_costs_no_verdict(failed: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    # Room for what FP32 keeps, not for what FP16 does.
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", small], check=False).returncode != 0:
        pytest.skip("this machine does not let us mount a tmpfs")
    try:
        event = judged_by_hand(failed, small / "x.checkpoints")
        assert event["verdict"] == trial(failed)["verdict"]
        assert "No space left" in event["checkpoints"]["absent"]["before_bad"]
        left = {path.name for path in small.glob("x.checkpoints/*/*")}
        assert left <= {"start", "before-bad"}, "nothing half-written"
    finally:
        subprocess.run(["umount", small], check=True)


def test_killed_and_resumed(tmp_path: Path) -> None:
    """Killed in the FP16 trial; what a killed write may leave is gone after the run went on."""
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    selection = ["--suite", "training", "--case", "train_late_overflow", "--precision", "autocast-fp16"]
    command = ["validate", *selection, "--rules", "rules.json", "--archive", "archive", "--worker", str(TEST_WORKER)]
    driver = subprocess.Popen(
        [AMPGATE, *command], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip
    root = tmp_path / "archive" / "cpu"
    deadline = time.monotonic() + 60
    while not list(root.glob("*.checkpoints/*fp16")) and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    driver.kill()
    driver.wait()
    (journal,) = journals(tmp_path / "archive")
    (of_fp32,) = root.glob("*.checkpoints/*fp32")
    of_fp16 = of_fp32.parent / of_fp32.name.replace("fp32", "autocast-fp16")
    for half in ("start.aside-0", "before-bad.aside-0", "before-bad"):
        (of_fp16 / half).mkdir(parents=True, exist_ok=True)
        (of_fp16 / half / "tensors.safetensors").write_text("half")
    assert ampgate("validate", "--resume", journal, cwd=tmp_path).code == 1
    (record,) = records(tmp_path / "archive")
    assert {path.name for path in of_fp16.iterdir()} == {"start", "before-bad"}
    assert reproduce(record).code == 0
    kept = trial(record, "train_late_overflow/batch16/fp32")["checkpoints"]["start"]
    assert json.loads((root / kept["folder"] / "checkpoint.json").read_text())["digest"] == kept["digest"]


def test_nothing_else_is_overwritten(failed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("important")
    result = reproduce(failed, "--from", place(failed, "start"), "--keep", tmp_path / "mine")
    assert result.code == 2
    assert "thesis.txt" in result.err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "important"


def test_a_checkpoint_that_cannot_be_kept(failed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = reproduce(failed, "--from", place(failed, "start"), "--keep", tmp_path / "file" / "later")
    assert result.code == 3
    assert "Not a directory" in result.err


def test_what_trains_nothing_has_no_checkpoint(smoke_record: Path, tmp_path: Path) -> None:
    result = ampgate("reproduce", smoke_record, "matmul/65x33x100/cast-bf16", "--from", tmp_path)
    assert result.code == 2
    assert "trained nothing" in result.err


def test_a_measurement_names_the_checkpoints_of_its_evidence(failed: Path, tmp_path: Path) -> None:
    ampgate("bench", "--evidence", failed, "--archive", tmp_path / "measured", "--worker", TEST_WORKER)
    (record,) = records(tmp_path / "measured")
    for name in ("start", "before_bad"):
        kept = trial(record)["checkpoints"][name]
        assert (record.parent / kept["folder"]).resolve() == place(failed, name).resolve()
        assert kept["digest"] == trial(failed)["checkpoints"][name]["digest"]
    assert reproduce(record).code == 0


def test_a_step_that_throws_is_replayed(tmp_path: Path) -> None:
    assert validate(tmp_path, "train_throws").code == 1
    (record,) = records(tmp_path)
    name = "train_throws/batch16/autocast-fp16"
    assert trial(record, name)["verdict"] == "crashed"
    assert trial(record, name)["checkpoints"]["before_bad"]["step"] == BAD_STEP
    result = reproduce(record, name=name)
    assert result.code == 0
    assert "the batch cannot be trained on" in result.out
    # Where it no longer throws, that is said.
    healed = reproduce(record, name=name, env={"AMPGATE_TRAINING_FAULT": "no"})
    assert healed.code == 1
    assert "different bits than in the record from step 5 on" in healed.out


def test_a_worker_that_dies_leaves_the_start(tmp_path: Path) -> None:
    assert validate(tmp_path, "train_crashes").code == 1
    (record,) = records(tmp_path)
    kept = trial(record, "train_crashes/batch16/autocast-fp16")["checkpoints"]
    assert (record.parent / kept["start"]["folder"] / "checkpoint.json").exists()
    assert "not known" in kept["absent"]["before_bad"]
    result = reproduce(record, name="train_crashes/batch16/autocast-fp16")
    assert result.code == 0
    assert "whole training" in result.out
