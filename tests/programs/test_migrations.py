"""Records that older versions wrote (tests/results/kept) are read by every program, and lose no measured number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, ampgate
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from test_decide import seal

sys.path.append(str(ROOT / "scripts"))
import record_migration
from archive_query.rows.record import record_in

KEPT = sorted((ROOT / "tests" / "results" / "kept").glob("version*.json"))
SCHEMAS = [json.loads(path.read_text()) for path in (ROOT / "results" / "schema").glob("*.json")]
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS)


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def by_ampgate(path: Path, archive: Path) -> dict[str, Any]:
    """As the driver gives it on."""
    place = archive / "cpu" / f"{read(path)['id']}.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(path.read_bytes())
    result = ampgate("archive", "show", place.stem, "--json", "--archive", archive)
    assert result.code == 0, result.err
    return result.json()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_driver_and_scripts_read_the_same(path: Path, tmp_path: Path) -> None:
    migrated = by_ampgate(path, tmp_path)
    by_queries = record_in(path.read_bytes())
    assert by_queries["ampgate_record"] == 1, "the view tells in which version it was written"
    assert migrated == by_queries | {"ampgate_record": record_migration.VERSION}
    (schema,) = (schema for schema in SCHEMAS if schema["$id"].endswith("record.schema.json"))
    found = Draft202012Validator(schema, registry=REGISTRY).iter_errors(migrated)
    assert [f"{error.json_path}: {error.message}" for error in found] == []


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_nothing_that_was_measured_is_lost_or_made(path: Path, tmp_path: Path) -> None:
    migrated, old = by_ampgate(path, tmp_path), read(path)
    for now, before in zip(migrated["trials"], old["trials"], strict=True):
        for part in ("verdict", "reason", "accuracy", "measurement", "evidence", "operators", "training"):
            assert now.get(part) == before.get(part)
        decisions = before.get("decisions") or {}
        if decisions and not {"kind", "regression"} & set(decisions):
            assert "decisions" not in now
            assert "no longer read" in now["absent"]["decisions"]
        else:
            assert now.get("decisions") == before.get("decisions")
    assert migrated["rules"]["bounds"] == old["rules"]["bounds"]
    assert migrated["digest"] == old["digest"], "the file's own"


def test_each_step_by_hand() -> None:
    """On the oldest kept record, where every step but those for empty objects has something to do."""
    old = read(KEPT[0])
    migrated = record_in(KEPT[0].read_bytes())
    assert old["rules"]["decisions"] == {"tie_rule": "lowest-index", "max_flips": 1.0, "max_defects": 0.0}
    assert migrated["rules"]["decisions"] == {"tie_rule": "lowest-index", "ordinary": {"flips": 1.0, "defect": 0.0}}
    assert migrated["rules"]["validation_limit_s"] == old["rules"]["trial_limit_s"]
    assert (migrated["rules"]["outputs"], migrated["rules"]["repeats"]) == ({}, 3)
    assert "precise" in old["plan"]["schedule"]
    assert "precise" not in migrated["plan"]["schedule"]
    assert (old["bench"]["processes"], migrated["bench"]["processes"]) == (3, [])
    assert "order_seeds" not in migrated["bench"]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_every_command_takes_them(path: Path, tmp_path: Path) -> None:
    by_ampgate(path, tmp_path / "archive")
    other = seal(read(path) | {"id": "20260101T000000Z-00000001"}, tmp_path / "other.json")
    for command in (("decide", path), ("compare", path, other), ("export", path), ("archive", "verify")):
        archive = ("--archive", tmp_path / "archive") if command[0] == "archive" else ()
        result = ampgate(*command, *archive)
        assert result.code in (0, 5), result.err  # of few blocks a comparison with itself is ambiguous
        assert "version" not in result.err
    report = [ROOT / "scripts" / "report", path, "--out", tmp_path / "page.html"]
    subprocess.run(report, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("version", "words"),
    [(99, "version 99, which is newer"), (0, "version 0"), (-1, "version -1"), (True, "version true"), ("1", '"1"')],
)
def test_other_versions_are_refused_by_name(version: object, words: str, tmp_path: Path) -> None:
    path = seal(read(KEPT[0]) | {"ampgate_record": version}, tmp_path / "record.json")
    for command in (("decide", path), ("export", path), ("compare", path, path)):
        result = ampgate(*command)
        assert result.code == 2
        assert f"{path}: record of {words}" in result.err or f"{path}: record of version {words}" in result.err
        assert "reads versions 1 to 2" in result.err
    report = [ROOT / "scripts" / "report", path, "--out", tmp_path / "page.html"]
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("place", ["rules", "plan", "bench", "trials", "environment"])
@pytest.mark.parametrize("value", [None, 3, "text", [], [[]], {}, [None], [{"absent": 3, "decisions": 5}]])
def test_an_old_record_of_any_form_is_refused_in_words(place: str, value: object, tmp_path: Path) -> None:
    path = seal(read(KEPT[0]) | {place: value}, tmp_path / "record.json")
    result = ampgate("decide", path)
    assert result.code in (0, 2), result.err
    assert result.code == 0 or f"{path}: " in result.err
