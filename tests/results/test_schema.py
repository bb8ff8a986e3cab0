"""The schemas: sound, joined to each other, and in agreement with docs/protocol.md and the default rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

ROOT = Path(__file__).resolve().parents[2]
FILES = (ROOT / "results" / "schema").glob("*.json")
SCHEMAS = {path.name.split(".")[0]: json.loads(path.read_text()) for path in FILES}
REGISTRY = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())


def errors(name: str, document: Any) -> list[str]:  # noqa: ANN401
    validator = Draft202012Validator(SCHEMAS[name], registry=REGISTRY)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_is_sound(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


def test_default_rules_fit_and_name_every_key() -> None:
    rules = json.loads((ROOT / "results" / "rules" / "default.json").read_text())
    assert errors("rules", rules) == []
    assert list(rules) == list(SCHEMAS["rules"]["properties"])
    for section in ("bounds", "decisions", "measurement"):
        assert list(rules[section]) == list(SCHEMAS["rules"]["properties"][section]["properties"])
    assert errors("rules", rules | {"lamda": 4}) != []


def example_plan() -> dict[str, Any]:
    text = (ROOT / "docs" / "protocol.md").read_text()
    plan = json.loads(re.search(r"```json\n(\{\"ampgate_plan\".*?)```", text, re.DOTALL)[1])
    plan["rules_sha256"] = "0" * 64
    for trial in plan["trials"]:
        del trial["evidence"]
    return plan


def test_the_documented_plan_fits() -> None:
    plan = example_plan()
    assert errors("plan", plan) == []
    assert errors("plan", plan | {"phase": "bench"}) != [], "a bench plan needs verdicts and evidence"
    assert errors("plan", plan | {"trials": []}) != []


def test_the_documented_case_files_fit() -> None:
    written = re.compile(r"<!-- file \S+ -->\n```json\n(\{\s*\"ampgate_case\".*?)```", re.DOTALL)
    texts = [text for file in (ROOT / "docs").glob("*.md") for text in written.findall(file.read_text())]
    cases = [json.loads(text) for text in texts]
    assert {"operator", "operators"} <= {key for case in cases for key in case}
    for case in cases:
        assert errors("case-file", case) == []
        assert errors("case-file", case | {"outptus": ["y"]}) != []


@pytest.mark.parametrize(
    ("event", "good"),
    [
        ({"event": "heartbeat"}, True),
        ({"event": "heartbeat", "pid": 1}, False),
        ({"event": "hello", "worker": "bench", "build_id": "b", "pid": 3}, True),
        ({"event": "hello", "worker": "other", "build_id": "b", "pid": 3}, False),
        ({"event": "trial_finished", "id": "a/b/fp32", "outputs": {"out": "0123456789abcdef" * 2}}, True),
        ({"event": "trial_finished", "id": "a/b/fp32", "outputs": {"out": "no digest"}}, False),
        ({"event": "trial_finished", "id": "a/b/fp32", "verdict": "refused", "reason": "r"}, True),
        ({"event": "trial_finished", "id": "a/b/fp32", "verdict": "good", "reason": "r"}, False),
        ({"event": "finished"}, False),
    ],
)
def test_events(event: dict[str, Any], good: bool) -> None:
    assert (errors("event", event) == []) is good
