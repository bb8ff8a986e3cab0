"""A disk that fills up at any byte: the run says so with exit code 3, what is there is whole, and is gone on with."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import AMPGATE, ROOT, Result, ampgate, journals, records
from test_decide import seal

QUIET_WORKER = {"FAKE_WORKER": "[]"}


def on_small_disk(size_bytes: int, out: Path, *commands: list[str | Path]) -> Result:
    """Runs them one after the other with `disk`, a file system of that size, as current folder, in a mount name space
    of their own; what lies there afterwards is copied to `out`. The exit code is the last one's."""
    lines = [" ".join(shlex.quote(str(word)) for word in command) for command in commands]
    script = f"""
        mount -t tmpfs -o size={size_bytes},mode=755 tmpfs {shlex.quote(str(out))}/disk || exit 99
        cd {shlex.quote(str(out))}/disk
        {"; ".join(lines)}
        code=$?
        cp -a . ../after
        exit $code"""
    (out / "disk").mkdir(parents=True)
    (out / "after").mkdir()
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script],
        env={**os.environ, **QUIET_WORKER}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    return Result(done.returncode, done.stdout, done.stderr)


def run_command(worker: Path) -> list[str | Path]:
    return [AMPGATE, "run", "--suite", "smoke", "--worker", worker, "--archive", "archive", "--quiet"]


@pytest.fixture(scope="module")
def undisturbed(fake_worker: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = tmp_path_factory.mktemp("undisturbed")
    result = ampgate(
        "run", "--suite", "smoke", "--worker", fake_worker, "--archive", archive, "--quiet", env=QUIET_WORKER
    )
    assert result.code == 0, result.err
    return records(archive)[0]


def trials(record: Path) -> dict[str, str]:
    return {trial["id"]: trial["verdict"] for trial in json.loads(record.read_text())["trials"]}


def test_a_run_at_every_size(fake_worker: Path, undisturbed: Path, tmp_path: Path) -> None:
    """From a disk that holds nothing to one that holds all: journal and record at once need the most."""
    page = os.sysconf("SC_PAGE_SIZE")
    need = 4 * undisturbed.stat().st_size
    counts = {"finished": 0, "stopped": 0, "not begun": 0}
    for number, size in enumerate(range(page, need + 8 * page, max(page, need // 24 // page * page))):
        out = tmp_path / str(number)
        result = on_small_disk(size, out, run_command(fake_worker))
        archive = out / "after" / "archive"
        if result.code == 0:
            assert trials(records(archive)[0]) == trials(undisturbed)
            counts["finished"] += 1
            continue
        assert result.code == 3, result.err
        assert "No space left on device" in result.err
        # No record is there that is none, and what the journal holds is gone on with where there is room.
        assert not records(archive)
        found = journals(archive)
        if not found or not found[0].read_text().partition("\n")[1]:
            counts["not begun"] += 1
            continue
        whole = [json.loads(line) for line in found[0].read_text().splitlines(keepends=True) if line.endswith("\n")]
        assert str(found[0].name) in result.err, "it says how to go on"
        resumed = ampgate("run", "--resume", found[0], "--worker", fake_worker, "--quiet", env=QUIET_WORKER)
        assert resumed.code == 0, resumed.err
        (record,) = records(archive)
        assert trials(record) == trials(undisturbed)
        kept = {trial["id"]: trial.get("validation_time_ns") for trial in json.loads(record.read_text())["trials"]}
        for line in whole:
            if "trial" in line and "validation_time_ns" in line["trial"]:
                assert kept[line["trial"]["id"]] == line["trial"]["validation_time_ns"], "it was not judged again"
        counts["stopped"] += 1
    print(f"disks of {page} to {need + 8 * page} bytes: {counts}, 0 finished trials lost")
    assert min(counts.values()) > 0, counts


def test_what_else_writes(undisturbed: Path, tmp_path: Path) -> None:
    fill = ["sh", "-c", "dd if=/dev/zero of=filler bs=512 count=100000 2>/dev/null; true"]
    page = ROOT / "scripts" / "report"
    another = json.loads(undisturbed.read_text()) | {"id": "20260101T000000Z-00000001"}
    other = seal(another, tmp_path / "other.json")
    for number, command in enumerate(
        (
            [AMPGATE, "export", undisturbed, "--out", "x.csv"],
            [AMPGATE, "compare", undisturbed, other, "--junit", "x.xml"],
            [page, undisturbed, "--out", "x.html"],
        )
    ):
        out = tmp_path / str(number)
        result = on_small_disk(64 * 1024, out, fill, command)
        assert result.code == 3, (command, result.err)
        assert "No space left on device" in result.err
        assert sorted(path.name for path in (out / "after").iterdir()) == ["filler"], "nothing half is left behind"


def test_an_archive_on_a_full_disk_is_read(undisturbed: Path, tmp_path: Path) -> None:
    """Lists need no index, and say what is there."""
    size = (undisturbed.stat().st_size // 4096 + 4) * 4096
    fill = ["sh", "-c", f"mkdir -p archive/cpu && cp {undisturbed} archive/cpu/; cat /dev/zero >filler 2>/dev/null"]
    result = on_small_disk(size, tmp_path, fill, [AMPGATE, "archive", "list", "--archive", "archive"])
    assert result.code == 0, result.err
    assert undisturbed.stem in result.out
