"""`ampgate fingerprint`, and what a record and a comparison say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, ampgate, records
from jsonschema import Draft202012Validator
from referencing import Registry, Resource


def schema(name: str) -> Any:  # noqa: ANN401
    return json.loads((ROOT / "results" / "schema" / name).read_text())


@pytest.fixture(scope="module")
def taken() -> dict[str, Any]:
    result = ampgate("fingerprint", "--device", "cpu", "--json")
    assert result.code == 0, result.err
    return result.json()


def test_the_document_is_as_its_schema_says(taken: dict[str, Any]) -> None:
    names = ("fingerprint.schema.json", "plan.schema.json", "record.schema.json")
    registry = Registry().with_resources((name, Resource.from_contents(schema(name))) for name in names)
    validator = Draft202012Validator(schema(names[0]), registry=registry)
    assert not [f"{error.json_path}: {error.message}" for error in validator.iter_errors(taken)]


def test_the_text_names_every_probe(taken: dict[str, Any]) -> None:
    result = ampgate("fingerprint", "--device", "cpu")
    assert result.code == 0, result.err
    found = taken["fingerprint"]
    assert result.out.endswith(f"Digest: {found['digest']}\n"), "the same in another process"
    for probe in found["probes"]:
        assert f"\n{probe['name']} " in result.out
        assert probe.get("words", "not asked: ") in result.out


def test_a_device_that_is_not_there() -> None:
    result = ampgate("fingerprint", "--device", "cuda:7")
    assert result.code == 3
    assert "no device cuda:7" in result.err


def test_it_is_in_the_record_and_a_difference_is_named(fake_worker: Path, tmp_path: Path) -> None:
    def run(archive: Path, arithmetic: str) -> Path:
        result = ampgate(
            "run", "--suite", "standard", "--case", "matmul/8x8x8", "--worker", fake_worker, "--archive", archive,
            env={"FAKE_WORKER": "[]", "FAKE_ARITHMETIC": arithmetic},
        )  # fmt: skip
        assert result.code == 0, result.err
        (record,) = records(archive)
        return record

    same, first, other = run(tmp_path / "a", "cut off"), run(tmp_path / "b", "cut off"), run(tmp_path / "c", "rounded")
    assert json.loads(first.read_text())["fingerprint"]["probes"][0]["words"] == "cut off"
    assert "/fingerprint" not in ampgate("compare", same, first).out
    named = ampgate("compare", first, other).out
    assert '/fingerprint/accumulator-fp16: "cut off" in A, "rounded" in B' in named
