"""A file as a record that the rest can rely on: strict JSON, its own digest, and the schema of records."""

from __future__ import annotations

import hashlib
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
from record_migration import VERSION, is_read, migrate, refusal

from report_page.error import ENVIRONMENT, ReportError
from report_page.markup import visible

NEEDED = "give records, as `ampgate run` writes them: ARCHIVE/DEVICE/*.json"
SHOWN_PROBLEMS = 3
SHOWN_CHARACTERS = 200
# Beside the scripts of a clone, and of an installed ampgate.
SCHEMAS = ("results/schema/record.schema.json", "schema/record.schema.json")


def read(path: Path) -> dict[str, Any]:
    """Raises ReportError, with the place, for whatever is no record of a version that is read, or was altered."""
    shown = visible(str(path))
    data = read_bytes(path, shown)
    document = parse(data, shown)
    if not isinstance(document, dict) or "ampgate_record" not in document:
        raise ReportError(f"{shown} is JSON, but no record: it has no key ampgate_record", NEEDED)
    version = document["ampgate_record"]
    if not is_read(version):
        raise ReportError(
            f"{shown} is a record of {short(refusal(version))}; this report reads versions 1 to {VERSION}",
            "use the report of the ampgate that wrote it, or of a newer one",
        )
    if version < VERSION:
        migrate(document)
        document["ampgate_record"] = VERSION
    check_schema(document, shown)
    check_digest(data, document["digest"], shown)
    check_trials(document, shown)
    return document


def read_bytes(path: Path, shown: str) -> bytes:
    try:
        if path.is_dir():
            raise ReportError(f"{shown} is a folder", f"{NEEDED} ({shown}/*.json, {shown}/*/*.json)")
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise ReportError(f"{shown} is no regular file", NEEDED)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ReportError(f"{shown} cannot be read: {reason}", NEEDED) from error
    if not data.strip():
        raise ReportError(f"{shown} is empty", NEEDED)
    return data


def parse(data: bytes, shown: str) -> object:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ReportError(f"{shown} is not UTF-8 at byte {error.start}", NEEDED) from error
    try:
        document = json.loads(
            text, object_pairs_hook=unique, parse_float=finite, parse_int=bounded, parse_constant=refuse
        )
        text.encode() if "\\ud" not in text.lower() else json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        what = "an unfinished journal" if shown.endswith(".jsonl") else "no JSON"
        raise ReportError(f"{shown}:{error.lineno}:{error.colno}: {what} ({error.msg})", NEEDED) from error
    except UnicodeEncodeError as error:
        raise ReportError(f"{shown} holds half of a surrogate pair, which is no text", NEEDED) from error
    except RecursionError as error:
        raise ReportError(f"{shown} is nested too deeply for a record", NEEDED) from error
    except ValueError as error:
        raise ReportError(f"{shown}: {error}", NEEDED) from error
    return document


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)
        raise ValueError(f"the key {short(visible(twice))!r} stands twice in one object")
    return made


def finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {short(text)} is too large")
    return value


def bounded(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"the number {short(text)} is too large")
    return int(text)


def refuse(word: str) -> None:
    raise ValueError(f'{word} stands bare: a value that is not finite is "nan", "inf" or "-inf"')


def check_schema(document: dict[str, Any], shown: str) -> None:
    problems = []
    for error in validator().iter_errors(document):
        where = "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in ["", *error.instance_path])
        problems.append(f"{shown}: at {short(visible(where)) or '/'}: {short(visible(error.message))}")
    if problems:
        more = len(problems) - SHOWN_PROBLEMS
        listed = problems[:SHOWN_PROBLEMS] + ([f"… and {more} more"] if more > 0 else [])
        raise ReportError("\n".join(listed), "the file is no record as this version writes them; use the original")


@cache
def validator() -> jsonschema_rs.Draft202012Validator:
    root = Path(__file__).resolve().parents[2]
    for name in SCHEMAS:
        if (root / name).is_file():
            return jsonschema_rs.Draft202012Validator(json.loads((root / name).read_text()))
    raise ReportError(f"{root / SCHEMAS[0]} is missing", "start the report from a complete ampgate", ENVIRONMENT)


def check_digest(data: bytes, digest: str, shown: str) -> None:
    """The SHA-256 of the record's bytes with its own 64 digits as zeros."""
    if hashlib.sha256(data.replace(digest.encode(), b"0" * 64, 1)).hexdigest() != digest:
        problem = f"{shown} does not fit its own digest: it was altered after it was written"
        raise ReportError(problem, "use the original")


def check_trials(document: dict[str, Any], shown: str) -> None:
    seen = set()
    for index, trial in enumerate(document["trials"]):
        if trial["id"] in seen:
            raise ReportError(f"{shown}: at /trials/{index}/id: {trial['id']} stands twice", "use the original")
        seen.add(trial["id"])


def short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
