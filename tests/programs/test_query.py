"""scripts/query: what it answers is what the records say, whatever else lies in the archive."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Result
from jsonschema import Draft202012Validator
from small_records import MODELS, archived, small_measurement, small_record, small_trial
from test_compare import REGISTRY, write

QUERY = ROOT / "scripts" / "query"
RECORD = {"$ref": "https://ampgate.example/schema/1/record.schema.json"}


@functools.cache
def installed() -> None:
    """The first start installs its packages, and says so."""
    subprocess.run([QUERY, "--help"], check=True, capture_output=True, timeout=900)


def query(archive: Path, *arguments: str | Path, **more: Any) -> Result:  # noqa: ANN401
    installed()
    done = subprocess.run(
        [QUERY, "--archive", archive, *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300, **more,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def asked(archive: Path, sql: str) -> list[dict[str, Any]]:
    """The answer, where nothing else was said."""
    result = query(archive, sql, "--format", "json")
    assert (result.code, result.err) == (0, "")
    return result.json()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two devices and three runs: one measured, in two modes, one refused, and one that only validated."""
    latency = small_measurement(2000.0, latency={
        "calls": 100, "processes": 3, "level": 0.95, "min_ns": 1.0, "max_ns": 9.0,
        "p50_ns": {"value": 5.0, "interval": [4.0, 6.0], "method": "by hand"},
        "absent": {"p99_ns": "100 calls, at least 1000 are needed"},
    })  # fmt: skip
    refused = {"verdict": "refused", "reason": "a callback was left on"}
    failed = small_trial("cast-bf16", verdict="nonfinite", reason="inf at [0]", absent={"measurement": "not let in"})
    failed["accuracy"]["kernel_error"] |= {"margin": "inf", "actual": "-inf", "expected": "nan"}
    del failed["measurement"]
    archived(
        tmp_path / "a",
        small_record(1, "cpu", [small_trial(variants={"latency": latency}), failed]),
        small_record(2, "cuda:0", [small_trial("cast-fp16", 10.0), small_trial("fp32", measurement=refused)]),
        small_record(3, "cuda:0", [small_trial("cast-fp16", 11.0)]),
    )
    return tmp_path / "a"


def test_the_records_made_by_hand_fit_their_schema(archive: Path) -> None:
    for path in archive.glob("*/*.json"):
        errors = list(Draft202012Validator(RECORD, registry=REGISTRY).iter_errors(json.loads(path.read_text())))
        assert not errors, [f"{error.json_path}: {error.message}" for error in errors]


def test_runs(archive: Path) -> None:
    rows = asked(archive, "FROM runs ORDER BY started")
    assert [row["device_model"] for row in rows] == [MODELS["cpu"], MODELS["cuda:0"], MODELS["cuda:0"]]
    first = rows[0]
    assert first["record"] == f"cpu/{first['run_id']}.json"
    assert first["started"] == "2026-01-31 01:02:01"
    assert first["seed"] == 2**63 + 1
    assert first["affinity"] == [0, 1]
    assert first["device_fields"] == {"driver": "5.1"}
    assert first["governor"] is None
    assert first["absent"] == {"governor": "this kernel shows none"}
    assert first["record_digest"] == json.loads((archive / first["record"]).read_text())["digest"]


def test_trials(archive: Path) -> None:
    passed, failed = asked(archive, "FROM trials WHERE device = 'cpu' ORDER BY verdict DESC")
    assert (passed["trial"], passed["case_name"], passed["shape"]) == ("matmul/2x3x4/cast-fp16", "matmul", "2x3x4")
    assert passed["dims"] == {"m": 2, "n": 3, "k": 4}
    assert (passed["margin"], passed["bound"]) == (0.25, None)
    assert passed["output_digests"] == {"out": "2" * 32}
    assert passed["measurement_verdict"] == "measured"
    assert (failed["verdict"], failed["reason"], failed["measurement_verdict"]) == ("nonfinite", "inf at [0]", None)
    assert failed["absent"] == {"measurement_verdict": "not let in"}
    assert (failed["margin"], failed["actual"], failed["expected"]) == ("inf", "-inf", "nan")


def test_measurements(archive: Path) -> None:
    latency, warm = asked(archive, "FROM measurements WHERE device = 'cpu' ORDER BY mode")
    assert (warm["mode"], warm["time_ns"], warm["time_low_ns"], warm["time_high_ns"]) == ("warm", 1000, 900, 1100)
    assert (warm["level"], warm["mad_ns"], warm["samples"], warm["lag1"]) == (0.95, 1.5, 21, "nan")
    assert warm["lag1_p"] is None
    assert warm["absent"]["lag1_p"] == "too few blocks"
    assert warm["absent"]["tflops"] == warm["absent"]["tflops_low"] == "none are counted"
    assert warm["absent"]["peak_bytes"] == "was not looked at"
    assert "p50_ns" not in warm["absent"]
    assert (latency["p50_ns"], latency["p50_low_ns"], latency["p50_high_ns"]) == (5, 4, 6)
    assert latency["absent"]["p99_ns"] == "100 calls, at least 1000 are needed"
    (refused,) = asked(archive, "FROM measurements WHERE verdict = 'refused'")
    assert (refused["reason"], refused["time_ns"]) == ("a callback was left on", None)


def test_operators(archive: Path) -> None:
    rows = asked(archive, "SELECT trial, operator, inputs, outputs, count FROM operators WHERE precision = 'fp32'")
    assert rows == [
        {"trial": "matmul/2x3x4/fp32", "operator": "aten::mm", "inputs": "float16, float16", "outputs": "float16",
         "count": 2},
        {"trial": "matmul/2x3x4/fp32", "operator": "aten::copy_", "inputs": "float32", "outputs": "float16",
         "count": 1},
    ]  # fmt: skip


def test_decisions(tmp_path: Path) -> None:
    row = {"id": -3, "input": "boundary 0.001", "classes": [1, 4], "baseline_scores": [1.5, "nan"], "effect": "defect",
           "trial_scores": ["inf", 2.0], "margin": 0.5, "baseline_decision": 4, "trial_decision": [1, 4]}  # fmt: skip
    named = row | {"id": 7, "position": 2, "allowed": 0.1, "trial_decision": "go"}
    archived(tmp_path, small_record(trials=[small_trial(decisions={"kind": "top-k", "table": [row, named]})]))
    first, second = asked(tmp_path, "FROM decisions ORDER BY sample")
    assert (first["sample"], first["input"], first["effect"]) == (-3, "boundary 0.001", "defect")
    assert (first["baseline_scores"], first["trial_scores"]) == ([1.5, "nan"], ["inf", 2.0])
    assert (first["baseline_decision"], first["trial_decision"], first["position"]) == ("4", "[1, 4]", None)
    assert (second["trial_decision"], second["position"], second["allowed"], second["kind"]) == ("go", 2, 0.1, "top-k")


def test_no_view_but_these(archive: Path) -> None:
    names = {row["name"] for row in asked(archive, "SHOW TABLES")}
    assert names == {"runs", "trials", "measurements", "decisions", "operators", "files", "view_columns"}


def test_a_real_record(smoke_record: Path, tmp_path: Path) -> None:
    """Every number that a user asks for first, against the record read otherwise."""
    record = json.loads(smoke_record.read_text())
    numbers = "SELECT * FROM measurements JOIN (SELECT record, trial, margin FROM trials) USING (record, trial)"
    rows = asked(smoke_record.parents[1], numbers)
    assert {row["trial"] for row in rows} == {trial["id"] for trial in record["trials"]}
    for trial in record["trials"]:
        (row,) = (row for row in rows if row["trial"] == trial["id"])
        time, memory = trial["measurement"]["time_ns"], trial["measurement"]["memory"]
        assert [row["time_ns"], row["time_low_ns"], row["time_high_ns"]] == [time["median"], *time["interval"]]
        assert row["margin"] == trial["accuracy"]["kernel_error"]["margin"]
        assert row["peak_bytes"] == memory["peak_bytes"]
        assert row["page_faults_per_call"] == trial["measurement"]["page_faults_per_call"]
        ratio = trial["measurement"].get("speedup_over_fp32", {"value": None})
        assert row["speedup_over_fp32"] == ratio["value"]
    counted = asked(smoke_record.parents[1], "SELECT sum(count) AS calls FROM operators")
    assert counted == [{"calls": sum(entry["count"] for trial in record["trials"] for entry in trial["operators"])}]


def test_every_column_is_described(archive: Path) -> None:
    columns = asked(archive, "FROM view_columns")
    assert all(column["description"] for column in columns)
    result = query(archive)
    assert (result.code, result.err) == (0, "")
    assert "runs (3 rows)" in result.out
    assert "measurements (5 rows)" in result.out
    for column in columns:
        assert f"  {column['column_name']} " in result.out


def test_table(archive: Path) -> None:
    sql = "SELECT precision, time_ns, lag1, reason FROM measurements WHERE device = 'cuda:0' ORDER BY ALL"
    result = query(archive, sql)
    assert result.code == 0, result.err
    assert result.out.splitlines() == [
        "precision  time_ns  lag1  reason",
        "cast-fp16       10   nan",
        "cast-fp16       11   nan",
        "fp32             -     -  a callback was left on",
    ]


def test_csv(archive: Path, tmp_path: Path) -> None:
    sql = "SELECT precision, margin, bound, reason FROM trials WHERE device = 'cpu' ORDER BY ALL"
    result = query(archive, sql, "--format", "csv")
    assert list(csv.reader(io.StringIO(result.out))) == [
        ["precision", "margin", "bound", "reason"],
        ["cast-bf16", "inf", "", "inf at [0]"],
        ["cast-fp16", "0.25", "", ""],
    ]
    by_name = query(archive, "SELECT 1 AS one", "--out", tmp_path / "one.csv")
    assert (by_name.code, by_name.out, (tmp_path / "one.csv").read_text()) == (0, "", "one\n1\n")


def test_parquet(archive: Path, tmp_path: Path) -> None:
    written = query(archive, "FROM measurements", "--out", tmp_path / "m.parquet")
    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "m.parquet").read_bytes()[:4] == b"PAR1"
    sql = f"SELECT count(*) AS rows, sum(time_ns) AS ns FROM '{tmp_path}/m.parquet'"
    assert asked(archive, sql) == [{"rows": 5, "ns": 3021.0}]
    piped = subprocess.run(
        [QUERY, "--archive", archive, "FROM runs", "--format", "parquet"], capture_output=True, check=True
    )
    assert piped.stdout[:4] == piped.stdout[-4:] == b"PAR1"


def test_sql_from_a_file_and_from_standard_input(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE TABLE mine AS SELECT 1 AS a;\nSELECT a + 1 AS b FROM mine; -- two\n")
    assert query(archive, "--file", tmp_path / "q.sql").out == "b\n2\n"
    with (tmp_path / "q.sql").open() as file:
        done = subprocess.run(
            [QUERY, "--archive", archive, "--file", "-"], stdin=file, capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (0, "b\n2\n")


WRONG = {
    "SQL that is none": (["SELEC 1"], 2, "without SQL, this program lists"),
    "nothing": (["-- nothing"], 2, "asks for nothing"),
    "a column that is not there": (["SELECT nothing FROM runs"], 2, "nothing"),
    "a file that is not there": (["--file", "gone.sql"], 2, "gone.sql cannot be read"),
    "SQL twice": (["SELECT 1", "--file", "x"], 2, "not both"),
    "an unknown format": (["SELECT 1", "--format", "xml"], 2, "xml"),
    "a folder as target": (["SELECT 1", "--out", "."], 2, "cannot be written"),
    "a target in no folder": (["SELECT 1", "--out", "none/x.csv"], 2, "cannot be written"),
    "two columns of one name": (["SELECT 1 AS a, 2 AS a", "--format", "json"], 2, "give them names"),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_usage(archive: Path, tmp_path: Path, what: str) -> None:
    arguments, code, text = WRONG[what]
    result = query(archive, *arguments, cwd=tmp_path)
    assert (result.code, result.out) == (code, "")
    assert text in result.err
    assert "Traceback" not in result.err
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.parametrize(("folder", "text"), [("none", "there is no archive"), ("file", "is a file")])
def test_no_archive(tmp_path: Path, folder: str, text: str) -> None:
    (tmp_path / "file").write_text("x")
    result = query(tmp_path / folder, "SELECT 1")
    assert result.code == 2
    assert text in result.err
    assert not (tmp_path / "none").exists()


def test_an_empty_archive_has_all_views(tmp_path: Path) -> None:
    result = query(tmp_path, "SELECT count(*) AS n, max(time_ns) AS t FROM measurements", "--format", "json")
    assert (result.code, result.json()) == (0, [{"n": 0, "t": None}])
    assert "there is no record" in result.err
    assert list(tmp_path.iterdir()) == []


def test_the_terminal_shows_names_and_does_not_obey_them(tmp_path: Path) -> None:
    archived(tmp_path, small_record(trials=[small_trial(reason="\x1b[2J\nname\u202e")]))
    result = query(tmp_path, "SELECT reason FROM trials")
    assert result.out.splitlines()[1] == r"\x1b[2J\nname\u202e"


def altered(record: Path) -> None:
    record.write_text(record.read_text().replace('"smoke"', '"sm0ke"'))


def resealed(record: Path, change: Any) -> None:  # noqa: ANN401
    document = json.loads(record.read_text())
    change(document)
    write(record, document)


def sealed_text(text: str) -> Any:  # noqa: ANN401
    """The record's text with `text` in the place of its margin, and a digest that fits."""

    def change(record: Path) -> None:
        nothing = "0" * 64
        document = json.loads(record.read_text()) | {"digest": nothing}
        changed = json.dumps(document).replace('"margin": 0.25', f'"margin": {text}', 1)
        record.write_text(changed.replace(nothing, hashlib.sha256(changed.encode()).hexdigest(), 1))

    return change


NO_RECORDS = {
    "empty": (lambda path: path.write_text(""), "is empty"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:500]), "is no JSON"),
    "another JSON": (lambda path: path.write_text('{"a": 1}'), "has no key ampgate_record"),
    "a JSON list": (lambda path: path.write_text("[1]"), "has no key ampgate_record"),
    "no UTF-8": (lambda path: path.write_bytes(b'{"a": "\xff"}'), "is no UTF-8"),
    "nested": (lambda path: path.write_text("[" * 100_000), "is nested too deeply"),
    "newer": (lambda path: resealed(path, lambda record: record.update(ampgate_record=3)), "3, which is newer; this"),
    "altered": (altered, "does not fit its own digest"),
    "no digest": (lambda path: path.write_text('{"ampgate_record": 2}'), "does not fit its own digest"),
    "no trials": (lambda path: resealed(path, lambda record: record.pop("trials")), "/trials is not an array"),
    "no id": (lambda path: resealed(path, lambda record: record.pop("id")), "/id is missing"),
    "a word for a number": (sealed_text('"much"'), "/trials/0/accuracy/kernel_error/margin is not a number"),
    "beyond double": (sealed_text("1e999"), "/trials/0/accuracy/kernel_error/margin is not a number"),
    "a huge integer": (sealed_text("9" * 5000), "is no JSON"),
    "a bare NaN": (sealed_text("NaN"), "NaN is no number"),
    "half a pair": (lambda path: resealed(path, lambda record: record["run"].update(ampgate="\ud800")), "surrogates"),
    "a number for an object": (
        lambda path: resealed(path, lambda record: record["trials"][0].update(accuracy=5)),
        "/trials/0/accuracy is not an object",
    ),
    "a list for an object": (
        lambda path: resealed(path, lambda record: record.update(device=[])),
        "/device is not an object",
    ),
    "a number for a reason": (
        lambda path: resealed(path, lambda record: record["trials"][0].update(absent={"islands": 5})),
        "/trials/0/absent/islands is not a string",
    ),
    "a word for reasons": (
        lambda path: resealed(path, lambda record: record["trials"][0].update(absent="all")),
        "/trials/0/absent is not an object",
    ),
    "half a pair in a reason": (
        lambda path: resealed(path, lambda record: record["trials"][0].update(absent={"islands": "\ud800"})),
        "/trials/0/absent/islands is not Unicode",
    ),
    "no object": (lambda path: resealed(path, lambda record: record["trials"].append(3)), "/trials/1 is not an object"),
}


def test_what_is_no_record_is_named_and_the_rest_is_answered(archive: Path) -> None:
    names = {}
    for number, (what, (change, _)) in enumerate(NO_RECORDS.items(), start=10):
        (bad,) = archived(archive, small_record(number, "cpu", [small_trial(time_ns=9.0)]))
        change(bad)
        names[f"cpu/{bad.name}"] = what
    sql = "SELECT file, problem, (SELECT count(*) FROM runs) AS runs FROM files WHERE problem IS NOT NULL"
    for _ in range(2):  # read, then remembered
        result = query(archive, sql, "--format", "json")
        assert result.code == 0
        assert "Traceback" not in result.err
        assert f"left out, {len(NO_RECORDS)} of the archive" in result.err
        said = {names[row["file"]]: row["problem"] for row in result.json()}
        assert said.keys() == NO_RECORDS.keys()
        for what, (_, text) in NO_RECORDS.items():
            assert text in said[what], what
        assert result.json()[0]["runs"] == 3
    assert f"  {min(names)} {said[names[min(names)]]}\n" in result.err


def test_what_else_lies_in_an_archive(archive: Path) -> None:
    (archive / "cpu" / "1.journal.jsonl").write_text("{}\n")
    (archive / "cpu" / "2.json.new").write_text("{")
    checkpoint = archive / "cpu" / "3.checkpoints" / "start" / "checkpoint.json"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_text("{}")
    assert asked(archive, "SELECT count(*) AS n FROM runs") == [{"n": 3}]  # and nothing was said
    (archive / "notes.txt").write_text("x")
    (archive / "cpu" / "notes.txt").write_text("x")
    (archive / "cpu" / "folder.json").mkdir()
    (archive / "cpu" / "link.json").symlink_to("nowhere")
    os.mkfifo(archive / "cpu" / "pipe.json")
    Path(os.fsdecode(os.fsencode(archive) + b"/cpu/\xff.json")).write_text("{}")
    (archive / "cpu" / "a\nb.json").write_text("{}")
    archived(archive, small_record(2, "cuda:0"))[0].rename(archive / "cpu" / "moved.json")
    (archive / "cpu" / "zz.json").write_bytes((archive / "cpu" / "moved.json").read_bytes())
    left_out = asked_with_words(archive, "SELECT file, problem FROM files WHERE problem IS NOT NULL ORDER BY file")
    assert {row["file"]: row["problem"].split(":")[0] for row in left_out} == {
        "notes.txt": "lies beside the devices' folders",
        "cpu/notes.txt": "is no record",
        "cpu/folder.json": "is a folder in a device's folder",
        "cpu/link.json": "cannot be read",
        "cpu/pipe.json": "is no file",
        "cpu/zz.json": "is a copy of cpu/moved.json",
        r"cpu/\xff.json": "has a name that is no UTF-8",
        "cpu/a\nb.json": "is no record",
    }


def asked_with_words(archive: Path, sql: str) -> list[dict[str, Any]]:
    result = query(archive, sql, "--format", "json")
    assert result.code == 0, result.err
    for row in result.json():
        assert row["file"].replace("\n", r"\n") in result.err
    return result.json()
