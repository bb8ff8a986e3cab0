"""Records of older schema versions as records of this one, as results/migration.h describes it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

VERSION = 2
TYPES = {"array": list, "object": dict}
# Beside the scripts of a clone, and of an installed ampgate.
STEPS = ("results/migrations/record.json", "migrations/record.json")

Json = dict[str, Any]


def is_read(version: object) -> bool:
    return type(version) is int and 1 <= version <= VERSION


def refusal(version: object) -> str:
    """What is said of a record of a version that is not read."""
    newer = ", which is newer" if type(version) is int and version > VERSION else ""
    return f"version {json.dumps(version)}{newer}"


def migrate(record: Json) -> None:
    """Leaves the version number as it is."""
    for step in steps():
        for found in objects_at(record, step["at"].strip("/").split("/")):
            if "remove" in step:
                remove(step, found)
            if "move" in step:
                move(step, found)
            if "add" in step:
                add(step, found)


@cache
def steps_file() -> Path:
    root = Path(__file__).resolve().parents[2]
    return next((root / name for name in STEPS if (root / name).is_file()), root / STEPS[0])


@cache
def steps() -> list[Json]:
    return json.loads(steps_file().read_text())


def objects_at(node: object, parts: list[str]) -> Iterator[Json]:
    if not parts:
        if isinstance(node, dict):
            yield node
    elif parts[0] == "*" and isinstance(node, list):
        for element in node:
            yield from objects_at(element, parts[1:])
    elif isinstance(node, dict) and parts[0] in node:
        yield from objects_at(node[parts[0]], parts[1:])


def remove(step: Json, found: Json) -> None:
    key = step["remove"]
    if key not in found or not is_to_remove(step, found[key]):
        return
    del found[key]
    if "absent" in step and isinstance(found.setdefault("absent", {}), dict):
        found["absent"][key] = step["absent"]


def is_to_remove(step: Json, value: object) -> bool:
    if "unless_type" in step:
        return not isinstance(value, TYPES[step["unless_type"]])
    if "if_empty" in step:
        return value == {}
    if "unless_member" in step:
        return isinstance(value, dict) and bool(value) and not any(key in value for key in step["unless_member"])
    return True


def move(step: Json, found: Json) -> None:
    if step["move"] not in found:
        return
    value = found.pop(step["move"])
    *above, last = step["to"].split("/")
    for part in above:
        found = found.setdefault(part, {})
        if not isinstance(found, dict):
            return
    found.setdefault(last, value)


def add(step: Json, found: Json) -> None:
    if step["add"] in found:
        return
    if "value" in step:
        found[step["add"]] = copy.deepcopy(step["value"])
    elif step["copy"] in found:
        found[step["add"]] = copy.deepcopy(found[step["copy"]])
