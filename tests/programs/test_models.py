"""TorchScript models of the user's own: their verdicts, decisions, islands and measurement, and bad files."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, ROOT, Result, ampgate, has_a_time
from jsonschema import Draft202012Validator

HERE = Path(__file__).resolve().parent
QUICK = {"measurement": {"processes": 1, "min_blocks": 20, "cell_time_ms": 1}}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, HERE / "torch_models.py", folder], check=True, capture_output=True)
    (folder / "rules.json").write_text(json.dumps({"ampgate_rules": 1, **QUICK}))
    return folder


def classifier(module: str = "classifier.pt", **members: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "ampgate_case": 1,
        "name": "clusters",
        "module": module,
        "inputs": {"x": {"file": "test.safetensors", "tensor": "rows"}},
        "data": {"labels": {"file": "test.safetensors", "tensor": "labels"}},
        "outputs": ["scores"],
        "decisions": {"kind": "argmax", "labels": "labels"},
        "rows_independent": True,
        **members,
    }


def tall(**members: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "ampgate_case": 1,
        "name": "tall",
        "module": "tall.pt",
        "inputs": {"features": {"file": "tall.safetensors", "tensor": "features"}},
        "data": {"targets": {"file": "tall.safetensors", "tensor": "targets"}},
        "outputs": ["prediction"],
        "targets": "targets",
        **members,
    }


def run(command: str, models: Path, case: dict[str, Any], archive: Path, *arguments: str | Path) -> Result:
    file = models / f"{case['name']}.json"
    file.write_text(json.dumps(case))
    programs = [case[key] for key in ("module", "reference_module") if case.get(key, "").endswith(".pt")]
    named = [models / name for name in programs if (models / name).is_file()]
    options = [word for path in named for word in ("--load-library", path)]
    return ampgate(
        command, "--device", "cpu", "--case-file", file, *options, "--archive", archive, "--json", *arguments
    )  # fmt: skip


def trials(result: Result) -> dict[str, Any]:
    assert result.fine or result.code == 1, result.err
    return {trial["precision"]: trial for trial in result.json()["trials"]}


@pytest.mark.parametrize(("module", "executor"), [("classifier.pt", "optimised"), ("traced.pt", "unoptimised")])
def test_a_classifier_with_labels(models: Path, tmp_path: Path, module: str, executor: str) -> None:
    case = classifier(module, executor=executor, minimum_accuracy=0.7)
    result = run("validate", models, case, tmp_path, "--precision", "autocast-*,cast-fp16")
    found = trials(result)
    assert len(found) == 4
    for precision, trial in found.items():
        assert trial["verdict"] == "pass", (precision, trial["reason"])
        decisions = trial["decisions"]
        assert decisions["rows"] == 200
        assert decisions["accuracy"]["trial"] > 0.8
        assert "batch_invariant" in trial["accuracy"]
        assert trial["explanation"]["local"]["operators"] > 3
    record = result.json()
    assert record["rules"]["minimum_accuracy"] == {"clusters": 0.7}
    uses = record["plan"]["files"]["cases"][0]["uses"]
    assert {Path(use["path"]).name for use in uses} == {module, "test.safetensors"}


def test_a_minimum_that_is_not_reached(models: Path, tmp_path: Path) -> None:
    found = trials(run("validate", models, classifier(minimum_accuracy=0.999), tmp_path, "--precision", "fp32"))
    assert found["fp32"]["verdict"] == "quality-lost", found["fp32"]["reason"]


def test_the_rules_come_before_the_case_file(models: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"ampgate_rules": 1, "minimum_accuracy": {"clusters": 0.5}}))
    case = classifier(minimum_accuracy=0.999)
    found = trials(run("validate", models, case, tmp_path, "--precision", "fp32", "--rules", rules))
    assert found["fp32"]["verdict"] == "pass", found["fp32"]["reason"]


def test_an_overflow_is_found_in_its_module_and_healed(models: Path, tmp_path: Path) -> None:
    found = trials(run("validate", models, tall(), tmp_path, "--precision", "autocast-*,islands-fp16"))
    assert found["fp32"]["verdict"] == "pass", found["fp32"]["reason"]
    low = found["autocast-fp16"]
    assert low["verdict"] == "nonfinite", low["reason"]
    assert "in region 'tower.up'" in low["reason"], low["reason"]
    healed = found["islands-fp16"]
    assert healed["verdict"] == "pass", healed["reason"]
    assert "tower.up" in healed["evidence"]["islands"], healed["evidence"]["islands"]
    assert "first" not in healed["evidence"]["islands"]
    assert found["autocast-bf16"]["decisions"]["regression"], found["autocast-bf16"]


def test_a_run_measures_what_was_judged_and_reproduces(models: Path, tmp_path: Path) -> None:
    precisions = ("--precision", "autocast-*,islands-fp16")
    result = run("run", models, tall(), tmp_path, "--rules", models / "rules.json", *precisions)
    found = trials(result)
    for precision in ("fp32", "autocast-bf16", "islands-fp16"):
        assert has_a_time(found[precision]), (precision, found[precision]["measurement"])
    line = shlex.split(found["autocast-bf16"]["reproducer"])
    again = ampgate(*line[1:], "--archive", tmp_path / "again", "--json")
    assert again.code == 0, again.err
    assert again.json()["trials"][-1]["evidence"]["outputs"] == found["autocast-bf16"]["evidence"]["outputs"]


def test_a_frozen_module_has_no_weights_to_convert(models: Path, tmp_path: Path) -> None:
    precisions = ("--precision", "cast-bf16,autocast-bf16")
    found = trials(run("validate", models, classifier("frozen.pt"), tmp_path, *precisions))
    assert found["cast-bf16"]["verdict"] == "unsupported"
    assert "constants of its graph" in found["cast-bf16"]["reason"]
    assert found["autocast-bf16"]["verdict"] == "pass", found["autocast-bf16"]["reason"]


def test_training_mode_takes_the_statistics_of_the_batch(models: Path, tmp_path: Path) -> None:
    drawn = run("validate", models, classifier(mode="train"), tmp_path)
    assert drawn.code == 2
    assert "aten::dropout draws random numbers" in drawn.err
    assert '"mode": "eval"' in drawn.err


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("state.pt", "holds weights or another archive, and no TorchScript"),
        ("foreign.pt", "needs the operator mine::twice, which is not registered"),
        ("test.safetensors", "is no zip archive"),
        ("nowhere.pt", "is no file that can be read"),
    ],
)
def test_bad_modules(models: Path, tmp_path: Path, module: str, text: str) -> None:
    result = run("validate", models, classifier(module), tmp_path)
    assert result.code == 2, result.out
    assert text in result.err, result.err
    assert module in result.err


def test_a_truncated_module(models: Path, tmp_path: Path) -> None:
    whole = (models / "classifier.pt").read_bytes()
    for size in (0, len(whole) // 2, len(whole) - 30):
        (models / "cut.pt").write_bytes(whole[:size])
        result = run("validate", models, classifier("cut.pt"), tmp_path)
        assert result.code == 2, (size, result.err)
        assert "cut.pt" in result.err


def test_a_changed_module_is_not_resumed_or_measured(models: Path, tmp_path: Path) -> None:
    case = classifier(name="changing", module="changing.pt")
    (models / "changing.pt").write_bytes((models / "classifier.pt").read_bytes())
    first = run("validate", models, case, tmp_path, "--precision", "cast-bf16")
    assert first.code == 0, first.err
    (models / "changing.pt").write_bytes((models / "traced.pt").read_bytes())
    record = next(tmp_path.glob("*/*.json"))
    again = ampgate(
        "bench", "--evidence", record, "--case-file", models / "changing.json", "--archive", tmp_path,
        "--load-library", models / "changing.pt",
    )  # fmt: skip
    assert again.code == 2, again.out
    assert "SHA-256 differs" in again.err


def test_listed(models: Path) -> None:
    (models / "clusters.json").write_text(json.dumps(classifier()))
    listed = subprocess.run(
        [AMPGATE, "list", "--case-file", models / "clusters.json", "--load-library", models / "classifier.pt"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "clusters" in listed.stdout


def test_a_module_runs_only_where_it_is_named(models: Path, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    for name in ("classifier.pt", "test.safetensors"):
        (folder / name).write_bytes((models / name).read_bytes())
    file = folder / "clusters.json"
    file.write_text(json.dumps(classifier()))
    refused = ampgate("list", "--case-file", file)
    assert refused.code == 2, refused.out
    assert f"--load-library {folder / 'classifier.pt'}" in refused.err
    # Another folder's is not named with this one.
    (folder / "elsewhere").mkdir()
    elsewhere = folder / "elsewhere" / "clusters.json"
    elsewhere.write_text(json.dumps(classifier("../classifier.pt", inputs={"x": {"shape": [4, 12], "fill": "normal"}},
                                               data={}, decisions={"kind": "argmax"})))  # fmt: skip
    assert ampgate("list", "--case-file", elsewhere.parent).code == 2
    result = ampgate("validate", "--device", "cpu", "--case-file", folder, "--precision", "cast-bf16",
                     "--archive", tmp_path / "a", "--json")  # fmt: skip
    found = trials(result)
    assert found["cast-bf16"]["verdict"] == "pass", found["cast-bf16"]["reason"]
    # The record names it by itself, and so does the command that makes the trial again.
    (library,) = result.json()["plan"]["files"]["libraries"]
    assert library["path"] == str(folder / "classifier.pt")
    assert f"--load-library '{folder / 'classifier.pt'}'" in found["cast-bf16"]["reproducer"]


def test_a_damaged_module_is_refused(models: Path, tmp_path: Path) -> None:
    content = bytearray((models / "classifier.pt").read_bytes())
    # Somewhere in the weights: the archive itself stays sound.
    begin = content.index(b"data/0") + 200
    content[begin] ^= 1
    (models / "damaged.pt").write_bytes(content)
    refused = run("validate", models, classifier("damaged.pt"), tmp_path)
    assert refused.code == 2, refused.out
    assert "is damaged: its part data/0" in refused.err


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run([sys.executable, HERE / "torch_packages.py", folder], check=True, capture_output=True)
    (folder / "rules.json").write_text(json.dumps({"ampgate_rules": 1, **QUICK}))
    return folder


def pair(trial: str = "bf16.pt2", **members: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "ampgate_case": 1,
        "name": "pair",
        "baseline_package": "fp32.pt2",
        "trial_package": trial,
        "trial_precision": "cast-bf16",
        "inputs": {"input": {"file": "net.safetensors", "tensor": "rows"}},
        "outputs": ["scores"],
        **members,
    }


WITH_MODULE = {
    "reference_module": "net.pt",
    "data": {"labels": {"file": "net.safetensors", "tensor": "labels"}},
    "decisions": {"labels": "labels"},
}


def named(folder: Path, *names: str) -> list[str | Path]:
    return [word for name in names for word in ("--load-library", folder / name)]


def test_the_schema_knows_these_files() -> None:
    schema = Draft202012Validator(json.loads((ROOT / "results" / "schema" / "case-file.schema.json").read_text()))
    good = [
        classifier(executor="unoptimised", mode="train", minimum_accuracy=0.5, meaning="scores", flops=3, reads="x"),
        tall(maximum_rmse=1.0, target_output="prediction", precisions=["cast-bf16"]),
        pair(maximum_relative_error=0.1),
        pair(**WITH_MODULE),
    ]
    for case in good:
        schema.validate(case)
    for case in (pair(), tall(operator="aten::relu"), classifier(mode="both"), classifier(minimum_accuracy=2)):
        assert not schema.is_valid(case), case


def test_machine_code_must_be_named(models: Path, tmp_path: Path) -> None:
    for name in ("fp32.pt2", "bf16.pt2"):
        (models / name).write_bytes(b"no package at all")
    case = pair(maximum_relative_error=0.01)
    refused = run("validate", models, case, tmp_path)
    assert refused.code == 2
    assert f"--load-library {models / 'fp32.pt2'}" in refused.err
    broken = run("validate", models, case, tmp_path, *named(models, "fp32.pt2", "bf16.pt2"))
    assert broken.code == 2
    assert "is no AOTInductor package" in broken.err


@pytest.mark.deep
def test_packages_with_their_module(packages: Path, tmp_path: Path) -> None:
    libraries = named(packages, "fp32.pt2", "bf16.pt2")
    result = run("run", packages, pair(**WITH_MODULE), tmp_path, "--rules", packages / "rules.json", *libraries)
    found = trials(result)
    assert set(found) == {"fp32", "cast-bf16"}
    for precision, trial in found.items():
        assert trial["verdict"] == "pass", (precision, trial["reason"])
        assert any("cannot be said" in finding["text"] for finding in trial["findings"])
        assert has_a_time(trial), trial["measurement"]
    assert found["cast-bf16"]["decisions"]["accuracy"]["trial"] > 0.9
    line = shlex.split(found["cast-bf16"]["reproducer"])
    again = ampgate(*line[1:], "--archive", tmp_path / "again", "--json")
    assert again.code == 0, again.err


@pytest.mark.deep
def test_packages_alone_and_wrong_ones(packages: Path, tmp_path: Path) -> None:
    alone = pair(maximum_relative_error=0.01)
    found = trials(run("validate", packages, alone, tmp_path, *named(packages, "fp32.pt2", "bf16.pt2")))
    assert found["cast-bf16"]["verdict"] == "suspect", found["cast-bf16"]["reason"]
    libraries = named(packages, "fp32.pt2", "wrong.pt2")
    for case in (pair("wrong.pt2", maximum_relative_error=0.01), pair("wrong.pt2", **WITH_MODULE)):
        found = trials(run("validate", packages, case, tmp_path, *libraries))
        assert found["cast-bf16"]["verdict"] == "inaccurate", found["cast-bf16"]["reason"]


@pytest.mark.deep
def test_a_package_runs_only_where_the_command_line_names_it(packages: Path, tmp_path: Path) -> None:
    case = pair(maximum_relative_error=0.01)
    refused = run("validate", packages, case, tmp_path, *named(packages, "fp32.pt2"))
    assert refused.code == 2
    assert f"--load-library {packages / 'bf16.pt2'}" in refused.err
    nothing = run("validate", packages, pair(), tmp_path, *named(packages, "fp32.pt2", "bf16.pt2"))
    assert nothing.code == 2
    assert "maximum_relative_error" in nothing.err
    (packages / "broken.pt2").write_bytes((packages / "fp32.pt2").read_bytes()[:5000])
    broken = run("validate", packages, pair("broken.pt2"), tmp_path, *named(packages, "fp32.pt2", "broken.pt2"))
    assert broken.code == 2
    assert "is no AOTInductor package" in broken.err
    sizes = pair(maximum_relative_error=0.01, inputs={"input": {"shape": [3, 12], "fill": "normal"}})
    crashed = trials(run("validate", packages, sizes, tmp_path, *named(packages, "fp32.pt2", "bf16.pt2")))
    assert crashed["fp32"]["verdict"] in ("crashed", "baseline-invalid"), crashed["fp32"]
