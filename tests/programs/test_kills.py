"""Runs that are killed at any instant lose no finished trial, and go on to what an uninterrupted run says."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, ampgate, journals, records

QUICK = {"measurement": {"processes": 2, "min_blocks": 8, "cell_time_ms": 1}}
CASES = ("--case", "softmax", "--case", "matmul", "--case", "mean")


@dataclass
class Uninterrupted:
    rules: Path
    trials: dict[str, dict[str, Any]]
    environment: dict[str, Any]
    seconds: float


def command(rules: Path, archive: Path) -> list[str]:
    return ["run", "--suite", "smoke", *CASES, "--rules", str(rules), "--archive", str(archive)]


def read(record: Path) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    document = json.loads(record.read_text())
    return {trial["id"]: trial for trial in document["trials"]}, document["environment"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    folder = tmp_path_factory.mktemp("uninterrupted")
    rules = folder / "rules.json"
    rules.write_text(json.dumps(QUICK))
    begin = time.monotonic()
    result = ampgate(*command(rules, folder / "archive"))
    seconds = time.monotonic() - begin
    assert result.fine, result.err
    (record,) = records(folder / "archive")
    return Uninterrupted(rules, *read(record), seconds)


def whole_lines(journal: Path) -> list[dict[str, Any]]:
    """All but a line that the kill cut off."""
    return [json.loads(line) for line in journal.read_text().splitlines(keepends=True) if line.endswith("\n")]


def kill_and_resume(run: Uninterrupted, archive: Path, delay_s: float) -> str:
    """What the kill met: "early" (nothing was begun), "late" (the record was there), else the phase."""
    driver = subprocess.Popen(
        [AMPGATE, *command(run.rules, archive)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    time.sleep(delay_s)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    if not journals(archive):
        return "late" if records(archive) else "early"
    (journal,) = journals(archive)
    before = whole_lines(journal)
    finished = {line["trial"]["id"]: line["trial"] for line in before if "trial" in line}
    measured = [line["bench"] for line in before if "bench" in line]
    result = ampgate("run", "--resume", journal)
    assert result.fine, result.err
    (record,) = records(archive)
    assert not journals(archive)

    trials, environment = read(record)
    assert set(trials) == set(run.trials)
    for name, trial in trials.items():
        for part in ("verdict", "accuracy", "decisions", "operators", "evidence"):
            assert trial[part] == run.trials[name][part], (name, part)
    assert environment["settings"] == run.environment["settings"]
    for name, trial in finished.items():
        assert trials[name]["validation_time_ns"] == trial["validation_time_ns"], f"{name} ran again"
    for process in measured:
        for name, rows in process["samples"].items():
            kept = [row[:5] for row in trials[name]["measurement"]["samples"] if row[0] == process["process"]]
            assert [[process["process"], *row[:4]] for row in rows] == kept, f"samples of {name} were lost"
    return "bench" if measured else "validate" if finished else "header"


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.deep)])
def test_kills_at_random_instants(
    uninterrupted: Uninterrupted, tmp_path: Path, capsys: pytest.CaptureFixture[str], kills: int
) -> None:
    draw = random.Random(kills)
    met: dict[str, int] = {}
    for number in range(kills):
        # In equal parts of the run, so that a few kills meet every phase.
        delay_s = uninterrupted.seconds * (number + draw.random()) / kills
        what = kill_and_resume(uninterrupted, tmp_path / str(number), delay_s)
        met[what] = met.get(what, 0) + 1
    with capsys.disabled():
        print(f"\n{kills} kills, 0 finished trials lost; where they met the run: {met}")
    # Where the machine was busier while the whole run was timed, more come late.
    assert met.get("validate", 0) + met.get("bench", 0) >= max(1, kills // 10), "some must meet a run at work"
