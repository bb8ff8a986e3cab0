"""Records and comparisons for other tools: read back by parsers that are not ours."""

from __future__ import annotations

import csv
import io
import json
import statistics
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from conftest import ampgate, records


@pytest.fixture(scope="module")
def record(fake_worker: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a trial that failed, one that was not measured, and another mode."""
    archive = tmp_path_factory.mktemp("exported")
    do = [
        {"phase": "validate", "id": "matmul/4x5x6/cast-fp16", "do": "inaccurate"},
        {"phase": "bench", "id": "matmul/4x5x6/cast-bf16", "do": "segv"},
    ]
    result = ampgate(
        "run", "--suite", "smoke", "--latency", "--worker", fake_worker, "--archive", archive,
        env={"FAKE_WORKER": json.dumps(do)},
    )  # fmt: skip
    assert result.code == 1, result.err
    return records(archive)[0]


def exported(record: Path, what: str) -> str:
    result = ampgate("export", record, "--format", what)
    assert result.code == 0, result.err
    return result.out


def test_csv(record: Path) -> None:
    trials = {trial["id"]: trial for trial in json.loads(record.read_text())["trials"]}
    rows = list(csv.DictReader(io.StringIO(exported(record, "csv"), newline="")))
    warm = {row["trial"]: row for row in rows if row["mode"] == "warm"}
    assert set(warm) == set(trials)
    assert {row["trial"] for row in rows if row["mode"] == "latency"} == {
        name for name, trial in trials.items() if "latency" in trial.get("variants", {})
    }
    for name, trial in trials.items():
        row = warm[name]
        assert row["verdict"] == trial["verdict"]
        assert row["reason"] == trial["reason"]
        measured = trial.get("measurement", {})
        assert row["measurement_verdict"] == measured.get("verdict", "")
        time = measured.get("time_ns")
        assert row["time_ns"] == ("" if time is None else json.dumps(time["median"]))


def test_google_benchmark(record: Path) -> None:
    trials = {trial["id"]: trial for trial in json.loads(record.read_text())["trials"]}
    document = json.loads(exported(record, "google-benchmark"))
    by_name: dict[str, list[dict[str, Any]]] = {}
    for entry in document["benchmarks"]:
        by_name.setdefault(entry["run_name"], []).append(entry)
    measured = {name for name, trial in trials.items() if "time_ns" in trial.get("measurement", {})}
    assert measured <= set(by_name)
    assert {name for name in by_name if not name.endswith("/latency")} == measured
    for name in measured:
        entries = by_name[name]
        assert [entry["repetition_index"] for entry in entries] == list(range(len(entries)))
        assert {entry["repetitions"] for entry in entries} == {len(entries)}
        kept = [
            row for row in trials[name]["measurement"]["samples"] if len(row) < 6 or not row[5].get("left_out", False)
        ]
        assert [entry["real_time"] for entry in entries] == pytest.approx([row[4] / row[3] for row in kept])
        # Of blocks of equal weight the record's own median lies among them.
        times = [entry["real_time"] for entry in entries]
        assert min(times) <= trials[name]["measurement"]["time_ns"]["median"] <= max(times)
        assert statistics.median(times) > 0


def test_sustained_trials_without_their_first_half(fake_worker: Path, tmp_path: Path) -> None:
    """The same blocks that the record's own median rests on: by then clocks have settled."""
    ampgate(
        "run", "--suite", "smoke", "--sustained", "--worker", fake_worker, "--archive", tmp_path,
        env={"FAKE_WORKER": "[]"},
    )  # fmt: skip
    (path,) = records(tmp_path)
    entries = json.loads(exported(path, "google-benchmark"))["benchmarks"]
    seen = 0
    for trial in json.loads(path.read_text())["trials"]:
        sustained = trial.get("variants", {}).get("sustained", {})
        if "time_ns" not in sustained:
            continue
        times = [entry["real_time"] for entry in entries if entry["run_name"] == f"{trial['id']}/sustained"]
        rows = sustained["samples"]
        total = sum(row[4] for row in rows)
        before = [sum(row[4] for row in rows[:number]) for number in range(len(rows))]
        settled = [row[4] / row[3] for row, waited in zip(rows, before, strict=True) if waited >= total / 2]
        assert times == pytest.approx(settled)
        assert 0 < len(times) < len(rows)
        assert statistics.median(times) == pytest.approx(sustained["time_ns"]["median"])
        seen += 1
    assert seen > 0


TOOLS = "libbenchmark-tools"
TOOLS_VERSION = "1.7.1-1"  # of the library that measures


@pytest.fixture(scope="module")
def compare_py(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Google Benchmark's own script, which its Debian package holds; it is unpacked, not installed."""
    folder = tmp_path_factory.mktemp("tools")
    try:
        subprocess.run(["apt-get", "download", f"{TOOLS}={TOOLS_VERSION}"], cwd=folder, check=True, capture_output=True)
        (package,) = folder.glob("*.deb")
        subprocess.run(["dpkg", "-x", package, folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{TOOLS} {TOOLS_VERSION} cannot be had here: {error}")
    return folder / "usr" / "share" / "benchmark" / "compare.py"


def test_google_benchmarks_own_compare_reads_and_pairs_it(
    record: Path, fake_worker: Path, tmp_path: Path, compare_py: Path
) -> None:
    ampgate(
        "run", "--suite", "smoke", "--latency", "--worker", fake_worker, "--archive", tmp_path / "archive",
        env={"FAKE_WORKER": "[]"},
    )  # fmt: skip
    (other,) = records(tmp_path / "archive")
    files = []
    for name, path in (("a", other), ("b", record)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(exported(path, "google-benchmark"))
    done = subprocess.run(
        [sys.executable, compare_py, "--no-color", "benchmarks", *files], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    lines = done.stdout.splitlines()
    entries = [json.loads(file.read_text())["benchmarks"] for file in files]
    both = {entry["run_name"] for entry in entries[0]} & {entry["run_name"] for entry in entries[1]}
    assert len(both) > 3
    for name in both:
        old, new = ([entry["real_time"] for entry in one if entry["run_name"] == name] for one in entries)
        shown = [line.split() for line in lines if line.split()[:1] == [name]]
        # Each repetition beside that of the other side: change of real and CPU time, then old and new of each.
        assert [[float(word) for word in (row[3], row[4])] for row in shown] == [
            [pytest.approx(a, abs=0.51), pytest.approx(b, abs=0.51)] for a, b in zip(old, new, strict=False)
        ]
        (test,) = (line for line in lines if line.startswith(f"{name}_pvalue"))
        assert test.endswith(f"U Test, Repetitions: {len(old)} vs {len(new)}") or "WARNING" in test


def test_junit(record: Path) -> None:
    trials = json.loads(record.read_text())["trials"]
    suites = ElementTree.fromstring(exported(record, "junit"))
    (suite,) = suites
    cases = {f"{case.get('classname')}/{case.get('name')}": case for case in suite}
    assert set(cases) == {trial["id"] for trial in trials}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"matmul/4x5x6/cast-fp16", "matmul/4x5x6/cast-bf16"}
    assert suite.get("failures") == "2"
    assert suite.get("tests") == str(len(trials))
    message = cases["matmul/4x5x6/cast-fp16"].find("failure").get("message")
    assert message.startswith("inaccurate: ")


def test_junit_of_a_comparison(record: Path, fake_worker: Path, tmp_path: Path) -> None:
    ampgate(
        "run", "--suite", "smoke", "--latency", "--worker", fake_worker, "--archive", tmp_path,
        env={"FAKE_WORKER": "[]"},
    )  # fmt: skip
    (good,) = records(tmp_path)
    out = tmp_path / "compared.xml"
    result = ampgate("compare", good, record, "--junit", out)
    assert result.code == 1, "verdicts got worse"
    cases = {f"{case.get('classname')}/{case.get('name')}": case for case in ElementTree.parse(out).getroot()[0]}
    failure = cases["matmul/4x5x6/cast-fp16"].find("failure")
    assert failure.get("message") == "verdict from pass to inaccurate"
    assert cases["matmul/4x5x6/fp32"].find("failure") is None


def test_against_the_archive(fake_worker: Path, tmp_path: Path) -> None:
    def run(*do: dict[str, str]) -> Path:
        before = set(records(tmp_path))
        ampgate(
            "run", "--suite", "smoke", "--worker", fake_worker, "--archive", tmp_path,
            env={"FAKE_WORKER": json.dumps(do)},
        )  # fmt: skip
        (new,) = set(records(tmp_path)) - before
        return new

    bad = {"phase": "validate", "id": "matmul/4x5x6/cast-fp16", "do": "inaccurate"}
    first = run(bad)
    alone = ampgate("compare", first, "--against-archive", "--archive", tmp_path)
    assert alone.code == 5
    assert "no good run of this device (Fake CPU) in suite smoke before" in alone.err
    good = run()
    run(bad)
    last = run()
    result = ampgate("compare", last, "--against-archive", "--archive", tmp_path, "--json")
    assert result.json()["a"]["id"] == good.stem, "the one between them was not good"
    (kept,) = (tmp_path / ".comparisons").iterdir()
    assert json.loads(kept.read_text()) == result.json()
    pruned = ampgate("archive", "prune", "--keep", "1", "--archive", tmp_path)
    assert f"{good.name}: the comparison {kept.stem} names it as its baseline" in pruned.out
    assert set(records(tmp_path)) == {good, last}
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"golden": {"Fake*": good.stem}}))
    before = set(records(tmp_path))
    compared = ampgate(
        "run", "--suite", "smoke", "--worker", fake_worker, "--archive", tmp_path, "--rules", rules,
        env={"FAKE_WORKER": "[]"},
    )  # fmt: skip
    assert compared.code == 0, compared.err
    (newest,) = set(records(tmp_path)) - before
    golden = ampgate("compare", newest, "--against-archive", "--archive", tmp_path, "--json").json()
    assert golden["a"]["id"] == good.stem, "although another good run is newer"
    assert golden["summary"]["refused"] == 0
    for arguments in ((last, good, "--against-archive"), (last,)):
        assert ampgate("compare", *arguments, "--archive", tmp_path).code == 2


def test_a_file_that_cannot_be_written(record: Path, tmp_path: Path) -> None:
    result = ampgate("export", record, "--out", tmp_path / "missing" / "x.csv")
    assert result.code == 3
    assert "missing" in result.err
    assert ampgate("export", record, "--format", "xls").code == 2
