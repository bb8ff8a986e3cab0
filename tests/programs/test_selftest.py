"""`ampgate selftest`: the detector catches what it must, says so, and the guide lists every kind of fault."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from conftest import BUILD, ROOT, ampgate
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

GUIDE = ROOT / "docs" / "selftest.md"
SCHEMAS = [json.loads(path.read_text()) for path in (ROOT / "results" / "schema").glob("*.json")]
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS)
SCHEMA = next(schema for schema in SCHEMAS if schema["title"] == "ampgate self-test")


def faults() -> list[dict[str, Any]]:
    (worker,) = BUILD.glob("libexec/ampgate/*/ampgate-validate")
    return json.loads(subprocess.run([worker, "faults"], capture_output=True, text=True, check=True).stdout)


def exception(line: dict[str, str]) -> str:
    where = "everywhere" if line["where"] == "*" else "in " + line["where"].replace(" ", ", ")
    types = "" if line["types"] == "*" else " (" + line["types"].replace(" ", ", ") + ")"
    words = {"must-catch": "must be caught", "may-miss": "may be missed", "not-applicable": "not applicable"}
    reason = f": {line['reason']}" if line["reason"] else ""
    return f"{words[line['expectation']]} {where}{types}{reason}"


def row(kind: dict[str, Any]) -> str:
    # A last line that says must-catch for all the rest goes without saying.
    rest = {"where": "*", "types": "*", "expectation": "must-catch", "reason": ""}
    exceptions = [exception(line) for line in kind["lines"] if line != rest]
    operators = "all" if kind["operators"] == "*" else kind["operators"].replace(" ", ", ")
    return f"| `{kind['kind']}` | {kind['fault']} | {operators} | {'; '.join(exceptions) or 'none'} |"


def test_the_guide_lists_every_kind() -> None:
    text = GUIDE.read_text()
    kinds = faults()
    assert len(kinds) >= 40
    for kind in kinds:
        numbered = re.fullmatch(r"(flip-[a-z]+)-\d+", kind["kind"])
        assert (f"| `{numbered[1]}-N` |" if numbered else row(kind)) in text


def missed(record: dict[str, Any]) -> list[str]:
    """The faults that must be caught and were not."""
    return [
        f"{trial['id']}: {fault['kind']}: {fault['outcome']}"
        for trial in record["trials"]
        for fault in trial.get("faults", [])
        if fault["outcome"] not in ("caught", "not-put-in") and fault["expectation"] == "must-catch"
    ]


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    result = ampgate("selftest", "--json", "--quiet", timeout=900)
    assert result.code == 0, result.err
    return result.json()


def test_short_form(record: dict[str, Any]) -> None:
    validator = Draft202012Validator(SCHEMA, registry=REGISTRY)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(record)] == []
    assert record["ended"] == ""
    summary = record["summary"]
    assert summary["must_catch"]["faults"] >= 1000
    assert summary["clean"]["trials"] >= 200
    assert summary["clean"]["false_alarms"] == 0
    outcomes = [fault["outcome"] for trial in record["trials"] for fault in trial["faults"]]
    assert "broken" not in outcomes
    assert missed(record) == []
    assert summary["good"] is True


def test_one_case() -> None:
    result = ampgate("selftest", "--case", "softmax", "--seed", "5")
    assert result.code == 0, result.out
    assert "The detector works." in result.out
    assert "dropped-k-block" in result.out


@pytest.mark.parametrize("arguments", [["--case", "softmacks"], ["--seed", "x"], ["--deeep"]])
def test_bad_usage(arguments: list[str]) -> None:
    assert ampgate("selftest", *arguments).code == 2


@pytest.mark.deep
def test_deep_form() -> None:
    result = ampgate("selftest", "--deep", "--json", "--quiet", timeout=3600)
    deep = result.json()
    assert deep["ended"] == ""
    assert deep["summary"]["clean"]["trials"] >= 20_000
    assert deep["summary"]["clean"]["false_alarms"] == 0
