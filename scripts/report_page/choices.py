"""What `ampgate decide` says of each record: the page shows it, and decides nothing itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from report_page.error import BAD_INPUT, ENVIRONMENT, ReportError

Json = dict[str, Any]
# From the scripts' folder: of an installed ampgate, of a clone that was built.
PROGRAMS = ("../../../bin/ampgate", "../build/bin/ampgate")
BUILD_FIRST = "build or install ampgate as a whole, or name another one with --ampgate"


def find_ampgate() -> Path | None:
    """Not there in a clone that was never built: the page says so, and has all else."""
    scripts = Path(__file__).resolve().parents[1]
    places = (Path(os.path.normpath(scripts / program)) for program in PROGRAMS)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def choices_of(ampgate: Path, paths: list[Path]) -> dict[str, list[Json]]:
    """By the record's digest: an entry for each case and shape, in the record's order."""
    command = [ampgate, "decide", "--json", "--", *map(os.path.abspath, paths)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise ReportError(f"{ampgate} cannot be started: {error.strerror}", BUILD_FIRST, ENVIRONMENT) from error
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip() or f"{ampgate} ended with exit code {done.returncode}"
        problem, _, action = told.removeprefix("ampgate: ").partition("\n")
        refused = done.returncode == BAD_INPUT
        raise ReportError(problem, action.strip() or BUILD_FIRST, BAD_INPUT if refused else ENVIRONMENT)
    found: dict[str, list[Json]] = {}
    try:
        entries = json.loads(done.stdout)
    except ValueError as error:
        raise ReportError(f"{ampgate} gave no JSON: {error}", BUILD_FIRST, ENVIRONMENT) from error
    for entry in entries:
        found.setdefault(entry["record_digest"], []).append(entry)
    return found
