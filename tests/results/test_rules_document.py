"""docs/rules.md, the schema, the default rules and the parser agree on every key.

That the default file is what the parser writes is a test of tests/results/rules_test.cpp.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "results" / "schema" / "rules.schema.json").read_text())
DEFAULT = json.loads((ROOT / "results" / "rules" / "default.json").read_text())
ROW = re.compile(r"\| `(/[a-z0-9_/]+)` \| `(.*?)` \| (.+?) \| (.+?) \| `(.+?)` \|")
DOCUMENTED = {row[0]: row[1:] for row in ROW.findall((ROOT / "docs" / "rules.md").read_text())}


def leaves(value: Any, pointer: str = "") -> dict[str, Any]:  # noqa: ANN401
    """JSON pointers to what is no object, or an empty one."""
    if not isinstance(value, dict) or not value:
        return {pointer: value}
    return {key: leaf for name, member in value.items() for key, leaf in leaves(member, f"{pointer}/{name}").items()}


def schema_keys(schema: dict[str, Any], pointer: str = "") -> list[str]:
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "properties" not in schema:
        return [pointer]
    return [key for name, part in schema["properties"].items() for key in schema_keys(part, f"{pointer}/{name}")]


def test_every_key_is_documented_with_its_default() -> None:
    assert {key: json.loads(row[0]) for key, row in DOCUMENTED.items()} == leaves(DEFAULT)


def test_the_schema_knows_the_same_keys() -> None:
    assert schema_keys(SCHEMA) == list(DOCUMENTED)


@pytest.mark.parametrize("key", DOCUMENTED)
def test_example(key: str) -> None:
    example = json.loads(DOCUMENTED[key][3])
    Draft202012Validator(SCHEMA).validate(example)
    assert any(found == key or found.startswith(key + "/") for found in leaves(example))
