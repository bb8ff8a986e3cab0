"""`ampgate compare A B`: what it refuses, what it decides, and the exit code of each answer."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Result, ampgate
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SCHEMAS = [json.loads(path.read_text()) for path in (ROOT / "results" / "schema").glob("*.json")]
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS)
WANTED = {"$ref": "https://ampgate.example/schema/1/comparison.schema.json"}


def write(path: Path, record: dict[str, Any]) -> Path:
    """The record with its own digest, as ampgate writes it."""
    nothing = "0" * 64
    text = json.dumps(record | {"digest": nothing})
    path.write_text(text.replace(nothing, hashlib.sha256(text.encode()).hexdigest(), 1))
    return path


@pytest.fixture
def quiet(smoke_record: Path) -> dict[str, Any]:
    """A real record whose samples are those of eight processes that differ by less than a thousandth."""
    record = json.loads(smoke_record.read_text())
    for trial in record["trials"]:
        trial["measurement"]["samples"] = [
            [process, block, 0, 10, 10000.0 + process + 3 * (block % 2)] for process in range(8) for block in range(5)
        ]
    return record


def slowed(record: dict[str, Any], factor: float) -> dict[str, Any]:
    other = copy.deepcopy(record)
    other["id"] += "-other"
    for trial in other["trials"]:
        for row in trial["measurement"]["samples"]:
            row[4] *= factor
    return other


def compare(folder: Path, a: dict[str, Any], b: dict[str, Any], *options: str) -> Result:
    return ampgate("compare", write(folder / "a.json", a), write(folder / "b.json", b), *options)


@pytest.mark.parametrize(
    ("factor", "code", "verdict", "words"),
    [
        (1.0001, 0, "same", "same"),
        (0.9, 0, "faster", "B takes 10 % less time than A"),
        (1.05, 4, "slower", "B takes 5.0 % longer than A"),
        (1.01, 5, "ambiguous", "ambiguous"),
    ],
)
def test_times(quiet: dict[str, Any], tmp_path: Path, factor: float, code: int, verdict: str, words: str) -> None:
    text = compare(tmp_path, quiet, slowed(quiet, factor))
    assert text.code == code, text.out + text.err
    assert words in text.out
    answer = compare(tmp_path, quiet, slowed(quiet, factor), "--json")
    assert answer.code == code
    comparison = answer.json()
    assert [trial["time"]["verdict"] for trial in comparison["trials"]] == [verdict] * len(quiet["trials"])
    assert comparison["summary"][verdict] == len(quiet["trials"])
    errors = Draft202012Validator(WANTED, registry=REGISTRY).iter_errors(comparison)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_another_seed_is_refused_with_both_values(quiet: dict[str, Any], tmp_path: Path) -> None:
    other = slowed(quiet, 2)
    other["plan"]["seed"] = 7
    result = compare(tmp_path, quiet, other)
    assert result.code == 5
    assert "/plan/seed: 1 in A, 7 in B" in result.out
    errors = Draft202012Validator(WANTED, registry=REGISTRY).iter_errors(
        compare(tmp_path, quiet, other, "--json").json()
    )
    assert list(errors) == []


def test_one_trial_with_another_setting_is_refused_alone(quiet: dict[str, Any], tmp_path: Path) -> None:
    other = slowed(quiet, 1.0001)
    other["trials"][1]["evidence"]["settings"]["mmap_threshold_bytes"] = "131072"
    result = compare(tmp_path, quiet, other, "--json")
    assert result.code == 5
    assert result.json()["trials"][1]["refused"]["field"] == "/evidence/settings/mmap_threshold_bytes"
    assert result.json()["summary"]["same"] == len(quiet["trials"]) - 1


def test_another_library_is_named_and_compared(quiet: dict[str, Any], tmp_path: Path) -> None:
    other = slowed(quiet, 1.0001)
    other["environment"]["libtorch"]["version"] = "2.99.0"
    result = compare(tmp_path, quiet, other)
    assert result.code == 0
    assert 'differs: /environment/libtorch/version: "2.11.0" in A, "2.99.0" in B' in result.out


def test_a_worse_verdict_comes_first(quiet: dict[str, Any], tmp_path: Path) -> None:
    other = slowed(quiet, 1.5)
    trial = other["trials"][-1]
    trial |= {"verdict": "inaccurate", "reason": "made up"}
    del trial["measurement"]
    trial["absent"] = {"measurement": "not measured"}
    result = compare(tmp_path, quiet, other)
    assert result.code == 1
    assert f"{trial['id']}: verdict from pass to inaccurate" in result.out
    errors = Draft202012Validator(WANTED, registry=REGISTRY).iter_errors(
        compare(tmp_path, quiet, other, "--json").json()
    )
    assert list(errors) == []


def test_nothing_in_common(quiet: dict[str, Any], tmp_path: Path) -> None:
    other = slowed(quiet, 1)
    other["trials"] = [trial for trial in other["trials"] if trial["case"] == "softmax"]
    some = copy.deepcopy(quiet)
    some["trials"] = [trial for trial in quiet["trials"] if trial["case"] == "matmul"]
    result = compare(tmp_path, some, other)
    assert result.code == 5
    assert "no trial in common" in result.out
    assert "Only in A: " in result.out


def test_files_that_cannot_be_compared(quiet: dict[str, Any], smoke_record: Path, tmp_path: Path) -> None:
    assert ampgate("compare", smoke_record, smoke_record).code == 2
    assert ampgate("compare", smoke_record).code == 2
    assert ampgate("compare", smoke_record, tmp_path / "none.json").code == 2
    altered = tmp_path / "altered.json"
    altered.write_text(smoke_record.read_text().replace('"pass"', '"suspect"', 1))
    assert ampgate("compare", smoke_record, altered).code == 2
    for row in ([0, 0, 0, 0, 5.0], [0, 0, 0, 1], [0, 0, 0, 1, -1.0], "row"):
        broken = copy.deepcopy(quiet)
        broken["trials"][0]["measurement"]["samples"][0] = row
        result = compare(tmp_path, quiet, broken)
        assert result.code == 2, row
        assert "/trials/0/measurement/samples/0" in result.err
    twice = copy.deepcopy(quiet)
    twice["trials"][0]["measurement"]["samples"][1][1] = 0
    assert "second sample" in compare(tmp_path, quiet, twice).err
