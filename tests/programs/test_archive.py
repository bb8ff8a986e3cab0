"""`ampgate archive`: what is there, whether it is as it was written, and what may go."""

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
from conftest import AMPGATE, Result, ampgate, journals, records


def make(worker: Path, archive: Path, *arguments: str | Path, command: str = "validate", **env: str) -> Path:
    """A run of its own, and its record."""
    before = set(records(archive))
    result = ampgate(
        command, "--suite", "smoke", "--worker", worker, "--archive", archive, *arguments,
        env={"FAKE_WORKER": "[]", **env},
    )  # fmt: skip
    assert result.code in (0, 1), result.err
    (record,) = set(records(archive)) - before
    return record


def failing(trial: str = "matmul/4x5x6/cast-fp16") -> str:
    return json.dumps([{"phase": "validate", "id": trial, "do": "inaccurate"}])


def archived(*arguments: str | Path, archive: Path) -> Result:
    return ampgate("archive", *arguments, "--archive", archive)


def listed(archive: Path, *arguments: str) -> list[dict[str, Any]]:
    result = archived("list", "--json", *arguments, archive=archive)
    assert result.code == 0, result.err
    return result.json()["records"]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def test_list_says_what_a_record_says(fake_worker: Path, archive: Path) -> None:
    good = make(fake_worker, archive, command="run")
    bad = make(fake_worker, archive, FAKE_WORKER=failing())
    first, second = listed(archive)
    record = json.loads(good.read_text())
    assert first["id"] == record["id"] == good.stem
    assert first["digest"] == record["digest"]
    assert first["began"] == record["run"]["started"]
    assert first["device"]["model"] == record["device"]["model"]
    assert first["trials"] == len(record["trials"])
    assert first["measured"] == sum("measurement" in trial for trial in record["trials"]) > 0
    assert sum(first["verdicts"].values()) == first["trials"]
    assert (first["exit_code"], first["command"]) == (0, "run")
    assert (second["exit_code"], second["command"], second["measured"]) == (1, "validate", 0)
    assert second["verdicts"]["inaccurate"] == 1
    text = archived("list", archive=archive).out
    assert good.stem in text
    assert bad.stem in text
    assert "1 inaccurate" in text
    assert "2 records in" in text
    assert listed(archive, "--device", "Fake*") == [first, second]
    assert listed(archive, "--device", "cuda*") == []


def test_the_index_is_not_the_truth(fake_worker: Path, archive: Path) -> None:
    record = make(fake_worker, archive)
    before = listed(archive)
    (index,) = archive.glob(".index*")
    for damage in ("", "nonsense\n", '{"ampgate_index":1}\n{"path": 3}\n{', '{"ampgate_index":99}\n'):
        index.write_text(damage)
        assert listed(archive) == before
    index.unlink()
    assert listed(archive) == before
    # What goes and comes is seen, whatever the index says.
    kept = record.read_bytes()
    record.unlink()
    assert listed(archive) == []
    record.write_bytes(kept)
    assert [entry["id"] for entry in listed(archive)] == [record.stem]


def test_an_archive_that_cannot_be_written_is_read(fake_worker: Path, archive: Path) -> None:
    make(fake_worker, archive)
    os.chmod(archive, 0o555)  # noqa: PTH101
    try:
        assert len(listed(archive)) == 1
    finally:
        os.chmod(archive, 0o755)  # noqa: PTH101


def test_show_prints_what_the_run_printed(fake_worker: Path, archive: Path) -> None:
    result = ampgate(
        "run", "--suite", "smoke", "--worker", fake_worker, "--archive", archive, env={"FAKE_WORKER": "[]"}
    )
    (record,) = records(archive)
    assert archived("show", record.stem, archive=archive).out == result.out
    for part in (record.stem[:12], record.stem[-8:], str(record)):
        assert archived("show", part, archive=archive).out == result.out
    assert archived("show", record.stem, "--json", archive=archive).json() == json.loads(record.read_text())
    missing = archived("show", "20010101", archive=archive)
    assert missing.code == 2
    assert "no record is called '20010101'" in missing.err
    make(fake_worker, archive)
    several = archived("show", "2", archive=archive)
    assert several.code == 2
    assert record.stem in several.err


def test_verify_names_every_file_that_was_touched(fake_worker: Path, archive: Path) -> None:
    whole = [make(fake_worker, archive) for _ in range(5)]
    assert archived("verify", archive=archive).code == 0
    altered, cut, empty, renamed, good = whole
    text = altered.read_text()
    moved = text.replace('"verdict":"pass"', '"verdict":"suspect"', 1)
    assert moved != text
    stamp = altered.stat()
    altered.write_text(moved)
    os.utime(altered, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    cut.write_bytes(cut.read_bytes()[:-100])
    empty.write_bytes(b"")
    renamed.rename(renamed.with_name("20010101T000000Z-00000000.json"))
    foreign = archive / "cpu" / "notes.json"
    foreign.write_text('{"a": 1}')
    result = archived("verify", archive=archive)
    assert result.code == 2
    lines = result.out.splitlines()
    for file, words in (
        (altered, "altered"),
        (cut, ""),
        (empty, "empty"),
        (renamed.with_name("20010101T000000Z-00000000.json"), f"is the record {renamed.stem} under another name"),
        (foreign, "not a record"),
    ):
        (line,) = (line for line in lines if line.startswith(str(file)))
        assert words in line
    assert not any(line.startswith(str(good)) for line in lines)
    assert "6 files read: 5 files cannot be trusted" in result.out
    # The list shows them, too, and goes on with the rest.
    assert [entry.get("id") for entry in listed(archive) if "id" in entry] == [good.stem]
    assert sum("problem" in entry for entry in listed(archive)) == 5


def test_same_size_and_time_deceive_the_list_but_not_verify(fake_worker: Path, archive: Path) -> None:
    record = make(fake_worker, archive)
    listed(archive)
    stamp = record.stat()
    text = record.read_text()
    record.write_text(text.replace('"seed":1', '"seed":2', 1))
    os.utime(record, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert archived("verify", archive=archive).code == 2
    assert "problem" in listed(archive)[0], "verify mends the index"


def test_prune_keeps_what_something_rests_on(fake_worker: Path, archive: Path, tmp_path: Path) -> None:
    oldest = make(fake_worker, archive)
    evidence = make(fake_worker, archive)
    good = make(fake_worker, archive)
    bad = [make(fake_worker, archive, FAKE_WORKER=failing()) for _ in range(3)]
    checkpoints = archive / "cpu" / f"{oldest.stem}.checkpoints" / "x"
    checkpoints.mkdir(parents=True)
    before = set(records(archive))
    shown = archived("prune", "--keep", "2", "--dry-run", archive=archive)
    assert set(records(archive)) == before
    assert "3 records would be removed" in shown.out
    result = archived("prune", "--keep", "2", archive=archive)
    assert result.code == 0, result.err
    assert set(records(archive)) == {good, *bad[1:]}
    assert not checkpoints.exists()
    assert f"{good.name}: it is the last good run of its device and suite" in result.out
    assert f"removed  cpu/{evidence.name}" in result.out


def test_prune_keeps_the_evidence_of_what_stays(fake_worker: Path, archive: Path) -> None:
    evidence = make(fake_worker, archive)
    measured = [
        make(fake_worker, archive, command="run"),
    ]
    before = set(records(archive))
    bench = ampgate(
        "bench", "--evidence", evidence, "--worker", fake_worker, "--archive", archive, env={"FAKE_WORKER": "[]"}
    )
    assert bench.code == 0, bench.err
    (newest,) = set(records(archive)) - before
    result = archived("prune", "--keep", "1", archive=archive)
    assert set(records(archive)) == {evidence, newest}
    assert f"the record {newest.stem} rests on it" in result.out
    assert measured[0].name in result.out


def test_what_is_no_record_is_never_removed(fake_worker: Path, archive: Path) -> None:
    make(fake_worker, archive)
    stranger = archive / "cpu" / "thesis.json"
    stranger.write_text("{}")
    archived("prune", "--keep", "1", archive=archive)
    assert stranger.exists()


def test_two_runs_and_a_prune_at_once(fake_worker: Path, archive: Path) -> None:
    for _ in range(4):
        make(fake_worker, archive)
    command = ["validate", "--suite", "smoke", "--worker", str(fake_worker), "--archive", str(archive)]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(ampgate, *command, env={"FAKE_WORKER": "[]"}) for _ in range(4)]
        prunes = [pool.submit(archived, "prune", "--keep", "1", archive=archive) for _ in range(4)]
        assert all(run.result().code == 0 for run in runs)
        assert all(prune.result().code == 0 for prune in prunes), [prune.result().err for prune in prunes]
    archived("prune", "--keep", "1", archive=archive)
    assert len(records(archive)) == 1
    assert archived("verify", archive=archive).code == 0


def test_a_run_that_goes_on_is_no_record_yet(fake_worker: Path, archive: Path) -> None:
    hang = json.dumps([{"phase": "validate", "id": "*", "do": "hang"}])
    with subprocess.Popen(
        [AMPGATE, "validate", "--suite", "smoke", "--worker", fake_worker, "--archive", archive],
        env={**os.environ, "FAKE_WORKER": hang}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as driver:  # fmt: skip
        while not journals(archive):
            time.sleep(0.01)
        result = archived("list", archive=archive)
        driver.send_signal(signal.SIGKILL)
    assert result.code == 0
    assert "Not finished: cpu/" in result.out
    assert "0 records in" in result.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "a command is missing"),
        (("lst",), "did you mean 'list'"),
        (("prune",), "--keep"),
        (("prune", "--keep", "0"), "--keep"),
        (("list", "--devise", "x"), "--device"),
        (("show",), "record"),
    ],
)
def test_bad_usage(archive: Path, arguments: tuple[str, ...], words: str) -> None:
    archive.mkdir()
    result = ampgate("archive", *arguments)
    assert result.code == 2, result.out
    assert words in result.err, result.err


def test_no_archive(tmp_path: Path) -> None:
    for name in ("missing", "file"):
        (tmp_path / "file").write_text("x")
        result = archived("list", archive=tmp_path / name)
        assert result.code == 2
        assert "there is no such archive" in result.err
