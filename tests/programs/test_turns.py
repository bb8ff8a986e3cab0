"""`ampgate bench --in-turns`: whose process runs when, and what happens to those that wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, Result, ampgate, records


@pytest.fixture
def evidence(fake_worker: Path, tmp_path: Path) -> Path:
    archive = tmp_path / "validated"
    assert ampgate("validate", "--suite", "smoke", "--worker", fake_worker, "--archive", archive).code == 0
    (record,) = records(archive)
    return record


def arguments(worker: Path, evidence: Path, archive: Path, turns: Path, *options: str) -> list[str | Path]:
    return ["bench", "--evidence", evidence, "--worker", worker, "--archive", archive, "--in-turns", turns, *options]


def measure(worker: Path, evidence: Path, turns: Path, archives: list[Path], *options: str) -> list[dict[str, Any]]:
    """The records of runs that take turns."""

    def one(archive: Path) -> dict[str, Any]:
        result = ampgate(*arguments(worker, evidence, archive, turns, *options))
        assert result.code == 0, result.err
        (path,) = records(archive)
        return json.loads(path.read_text())

    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, archives))


def turns_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [process["turn"] for process in record["bench"]["processes"]]


def test_three_runs_one_process_at_a_time(fake_worker: Path, evidence: Path, tmp_path: Path) -> None:
    archives = [tmp_path / name for name in "abc"]
    made = measure(
        fake_worker, evidence, tmp_path / "turns", archives, "--runs-in-turns", "3", "--processes", "8", "--latency"
    )
    first, second, third = (turns_of(record) for record in made)
    assert first == second == third
    assert len({turn["series"] for turn in first}) == 1
    numbers = [turn["number"] for turn in first]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 16
    a, b = (records(archive)[0] for archive in archives[:2])
    compared = ampgate("compare", a, b, "--json").json()
    for trial in compared["trials"]:
        assert trial["time"]["in_turns"]
        assert trial["time"]["processes"] == 16
    # The same file serves the next runs.
    again = measure(fake_worker, evidence, tmp_path / "turns", [tmp_path / "d", tmp_path / "e"])
    assert turns_of(again[0])[0]["series"] != first[0]["series"]


def test_a_run_that_ends_is_passed_over(fake_worker: Path, evidence: Path, tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    killed = subprocess.Popen(
        [AMPGATE, *arguments(fake_worker, evidence, tmp_path / "killed", turns)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not turns.exists() or '"joined":1' not in turns.read_text():
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    with ThreadPoolExecutor() as pool:
        alone = pool.submit(measure, fake_worker, evidence, turns, [tmp_path / "a", tmp_path / "b"])
        a, b = alone.result(timeout=120)
    assert turns_of(a) == turns_of(b)

    short = ["--processes", "2"]
    with ThreadPoolExecutor() as pool:
        few = pool.submit(measure, fake_worker, evidence, turns, [tmp_path / "few"], *short)
        many = pool.submit(measure, fake_worker, evidence, turns, [tmp_path / "many"], "--processes", "5")
        (of_few,), (of_many,) = few.result(timeout=120), many.result(timeout=120)
    assert turns_of(of_many)[:2] == turns_of(of_few)
    assert len(turns_of(of_many)) == 5


def test_waiting_can_be_interrupted(fake_worker: Path, evidence: Path, tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    waiting = subprocess.Popen(
        [AMPGATE, *arguments(fake_worker, evidence, tmp_path / "a", turns)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not turns.exists() or '"joined":1' not in turns.read_text():
        time.sleep(0.01)

    def refused(*options: str) -> Result:
        return ampgate(*arguments(fake_worker, evidence, tmp_path / "b", turns, *options))

    other_number = refused("--runs-in-turns", "3")
    assert other_number.code == 2
    assert "2 runs take turns there, this one was told of 3" in other_number.err
    os.kill(waiting.pid, signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "--resume" in err


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [("not turns", 2, "no file of runs that take turns"), (None, 3, "cannot be written")],
)
def test_files_that_are_something_else(
    fake_worker: Path, evidence: Path, tmp_path: Path, content: str | None, code: int, message: str
) -> None:
    turns = tmp_path / "turns"
    if content is None:
        turns = tmp_path / "missing" / "turns"
    else:
        turns.write_text(content)
    result = ampgate(*arguments(fake_worker, evidence, tmp_path / "a", turns))
    assert result.code == code, result.err
    assert message in result.err
    if content is not None:
        assert turns.read_text() == content


def test_a_number_without_a_file(evidence: Path) -> None:
    result = ampgate("bench", "--evidence", evidence, "--runs-in-turns", "3")
    assert result.code == 2
    assert "--in-turns" in result.err
