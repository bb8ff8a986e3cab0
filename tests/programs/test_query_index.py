"""The index that scripts/query keeps: it follows the records, whoever writes, reads or is killed meanwhile."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from small_records import archived, small_record, small_trial
from test_query import QUERY, asked, query

SUM = "SELECT count(*) AS trials, sum(time_ns) AS ns FROM measurements"
MANY = 150


def add(archive: Path, *numbers: int) -> None:
    """The record of number n has one trial that takes n nanoseconds."""
    archived(archive, *(numbered(number) for number in numbers))


def numbered(number: int) -> dict:
    record = small_record(number % 60, trials=[small_trial(time_ns=float(number))])
    record["id"] = f"20260131T010203Z-{number:08x}"
    return record


def total(*numbers: int) -> list[dict[str, float | None]]:
    return [{"trials": len(numbers), "ns": float(sum(numbers)) if numbers else None}]


def path_of(archive: Path, number: int) -> Path:
    return archive / "cpu" / f"20260131T010203Z-{number:08x}.json"


def index_of(archive: Path) -> Path:
    (index,) = (archive / ".query").iterdir()
    return index


def segments(archive: Path) -> list[Path]:
    return [path.parent for path in index_of(archive).glob("[0-9a-f]*/sources.json")]


def test_it_follows_the_records(tmp_path: Path) -> None:
    add(tmp_path, 1, 2, 3)
    assert asked(tmp_path, SUM) == total(1, 2, 3)
    add(tmp_path, 4)
    assert asked(tmp_path, SUM) == total(1, 2, 3, 4)
    path_of(tmp_path, 2).unlink()
    assert asked(tmp_path, SUM) == total(1, 3, 4)
    path_of(tmp_path, 3).rename(tmp_path / "cpu" / "other.json")
    assert asked(tmp_path, "SELECT record FROM measurements WHERE time_ns = 3") == [{"record": "cpu/other.json"}]
    for path in (tmp_path / "cpu").iterdir():
        path.unlink()
    assert query(tmp_path, SUM, "--format", "json").json() == total()


def test_a_file_that_was_written_over_is_read_again_even_with_its_old_size_and_time(tmp_path: Path) -> None:
    add(tmp_path, 10, 20)
    assert asked(tmp_path, SUM) == total(10, 20)
    path = path_of(tmp_path, 20)
    before = path.stat()
    add(tmp_path, 30)
    path.write_bytes(path_of(tmp_path, 30).read_bytes())
    path_of(tmp_path, 30).unlink()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert asked(tmp_path, SUM) == total(10, 30)


def test_records_are_read_once(tmp_path: Path) -> None:
    """A planted row is believed as long as its file stays as it was: the index is used, and only for that."""
    add(tmp_path, 1, 2)
    assert asked(tmp_path, SUM) == total(1, 2)
    (segment,) = segments(tmp_path)
    sources = json.loads((segment / "sources.json").read_text())
    sources["sources"][0][4], sources["sources"][0][3] = "planted", None
    (segment / "sources.json").write_text(json.dumps(sources))
    result = query(tmp_path, SUM, "--format", "json")
    assert "planted" in result.err
    assert len(result.json()) == 1
    rebuilt = query(tmp_path, SUM, "--format", "json", "--rebuild")
    assert (rebuilt.json(), rebuilt.err) == (total(1, 2), "")


def test_records_that_come_one_by_one_are_in_few_segments(tmp_path: Path) -> None:
    for number in range(1, 13):
        add(tmp_path, number)
        assert asked(tmp_path, SUM) == total(*range(1, number + 1))
    assert len(segments(tmp_path)) <= 4  # log2(12) + 1
    assert not list(index_of(tmp_path).glob(".unfinished-*"))


def test_many_records_and_bad_ones_among_them(tmp_path: Path) -> None:
    numbers = list(range(1, MANY + 1))
    add(tmp_path, *numbers)
    path_of(tmp_path, 7).write_text("{")
    result = query(tmp_path, SUM, "--format", "json")
    assert result.json() == total(*(number for number in numbers if number != 7))
    assert f"reading {MANY} new" in result.err
    assert path_of(tmp_path, 7).name in result.err
    assert len(segments(tmp_path)) == 1


def test_indexes_of_other_versions_are_left_alone_for_a_month(tmp_path: Path) -> None:
    now = time.time()
    for name, days in {"recent": 20, "old": 40}.items():
        lock = tmp_path / ".query" / name / "reading.lock"
        lock.parent.mkdir(parents=True)
        lock.touch()
        os.utime(lock, (now, now - days * 24 * 3600))
    add(tmp_path, 1)
    assert asked(tmp_path, SUM) == total(1)
    assert (tmp_path / ".query" / "recent").is_dir()
    assert not (tmp_path / ".query" / "old").exists()


@pytest.mark.parametrize("damage", ["truncated", "gone", "no JSON", "no sources"])
def test_a_damaged_index_is_made_again(tmp_path: Path, damage: str) -> None:
    add(tmp_path, 1, 2)
    assert asked(tmp_path, SUM) == total(1, 2)
    (segment,) = segments(tmp_path)
    rows, sources = segment / "measurements.parquet", segment / "sources.json"
    if damage == "truncated":
        rows.write_bytes(rows.read_bytes()[:-9])
    elif damage == "gone":
        rows.unlink()
    else:
        sources.write_text("{" if damage == "no JSON" else '{"bytes": {}, "sources": 3}')
    assert asked(tmp_path, SUM) == total(1, 2)


def test_rows_that_cannot_be_read_are_no_riddle(tmp_path: Path) -> None:
    add(tmp_path, 1, 2)
    assert asked(tmp_path, SUM) == total(1, 2)
    (segment,) = segments(tmp_path)
    rows = segment / "measurements.parquet"
    rows.write_bytes(b"x" * rows.stat().st_size)
    result = query(tmp_path, SUM)
    assert result.code == 2
    assert "--rebuild" in result.err
    assert query(tmp_path, SUM, "--format", "json", "--rebuild").json() == total(1, 2)


@pytest.mark.parametrize("name", ["with space", "[a]*?", "quote'd", "umlaut ä"])
def test_any_name_of_an_archive(tmp_path: Path, name: str) -> None:
    for folder in ("a", name):
        add(tmp_path / folder, 1, 2)
    assert asked(tmp_path / name, SUM) == total(1, 2)
    add(tmp_path / name, 3)  # merged from two segments
    assert asked(tmp_path / name, SUM) == total(1, 2, 3)


def test_an_archive_that_cannot_be_written(tmp_path: Path) -> None:
    """Its index lies in the user's cache. A file in the way works for root as well."""
    archive, cache = tmp_path / "archive", tmp_path / "cache"
    add(archive, 1, 2)
    (archive / ".query").write_text("")
    result = query(archive, SUM, "--format", "json", env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    assert (result.code, result.err, result.json()) == (0, "", total(1, 2))
    assert len(list(cache.glob("ampgate/query/*/*/*/sources.json"))) == 1
    (tmp_path / "file").write_text("")
    result = query(archive, SUM, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "file")})
    assert result.code == 3
    assert "no place for an index" in result.err


def test_nothing_is_written_into_a_folder_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "some" / "folder").mkdir(parents=True)
    (tmp_path / "some" / "folder" / "package.json").write_text("{}")
    cache = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    result = query(tmp_path / "some", SUM, "--format", "json", env=cache)
    assert (result.code, result.json()) == (0, total())
    assert "package.json is no record" in result.err
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["folder"]


@pytest.mark.parametrize("count", [2, 20])
def test_a_full_disk(tmp_path: Path, count: int) -> None:
    """As far as a limit on the size of files is like one; read here, and by workers."""
    add(tmp_path, *range(1, count + 1))
    small = "ulimit -f 2; exec " + shlex.join(map(str, [QUERY, "--archive", tmp_path, SUM]))
    done = subprocess.run(["bash", "-c", small], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "cannot be written: " in done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert query(tmp_path, SUM, "--format", "json").json() == total(*range(1, count + 1))


DEADLY = """
import json, os, sys
def loads(text, loads=json.loads, **more):
    if "the poisoned host" in text:
        os.kill(os.getpid(), 9)
    return loads(text, **more)
if "archive_query.worker" in sys.orig_argv:
    json.loads = loads
"""


def test_a_file_that_ends_the_process_that_reads_it(tmp_path: Path) -> None:
    """As one that asks for more memory than there is."""
    add(tmp_path / "a", *range(1, 21))
    deadly = numbered(21)
    deadly["environment"]["host"] = "the poisoned host"
    archived(tmp_path / "a", deadly)
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    result = query(tmp_path / "a", SUM, "--format", "json", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (result.code, result.json()) == (0, total(*range(1, 21))), result.err
    assert f"  cpu/{deadly['id']}.json ended the process that read it" in result.err


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = tmp_path_factory.mktemp("large") / "archive"
    add(archive, *range(1, MANY + 1))
    return archive


@pytest.fixture
def fresh(large: Path) -> Iterator[Path]:
    shutil.rmtree(large / ".query", ignore_errors=True)
    yield large


def start(archive: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [QUERY, "--archive", archive, SUM, "--format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_several_users_at_once(fresh: Path) -> None:
    """All begin without an index, while a writer adds records and removes them again."""
    users = [start(fresh) for _ in range(4)]
    for number in range(MANY + 1, MANY + 20):
        add(fresh, number)
        path_of(fresh, number).unlink()
    for user in users:
        out, err = user.communicate(timeout=300)
        assert user.returncode == 0, err
        (answer,) = json.loads(out)
        assert MANY <= answer["trials"] <= MANY + 1, err
    assert asked(fresh, SUM) == total(*range(1, MANY + 1))


def killed_and_asked(archive: Path, times: int) -> int:
    """Kills queries, workers not, after random times; returns how many were still at work."""
    begun = time.monotonic()
    first = start(archive)
    first.communicate(timeout=300)
    assert first.returncode == 0
    whole = time.monotonic() - begun
    chance = random.Random(times)
    killed = 0
    for _ in range(times):
        if chance.random() < 0.5:
            shutil.rmtree(archive / ".query", ignore_errors=True)
        victim = start(archive)
        time.sleep(chance.uniform(0, whole))
        killed += victim.poll() is None
        victim.send_signal(signal.SIGKILL)
        victim.communicate(timeout=60)
        result = query(archive, SUM, "--format", "json")
        assert (result.code, result.json()) == (0, total(*range(1, MANY + 1))), result.err
    assert not list(index_of(archive).glob(".unfinished-*"))
    return killed


def test_killed_at_any_moment(fresh: Path) -> None:
    assert killed_and_asked(fresh, 5) > 0


@pytest.mark.deep
def test_killed_often(fresh: Path) -> None:
    print(f"{killed_and_asked(fresh, 100)} of 100 queries were killed at work; every answer after it was whole")


def program(folder: Path, archive: Path, *lines: str) -> list[str | Path]:
    """The command of a program that has `archive` open while these lines run."""
    (folder / "program.py").write_text(
        "import sys\n"
        f"sys.path.append({str(ROOT / 'scripts')!r})\n"
        "from archive_query.archive import open_archive\n"
        f"with open_archive({str(archive)!r}) as archive:\n" + "".join(f"    {line}\n" for line in lines)
    )
    python = subprocess.run([ROOT / "scripts" / "python_for", "query"], capture_output=True, text=True, check=True)
    return [python.stdout.strip(), folder / "program.py"]


def test_from_a_program(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    add(archive, *range(1, MANY + 1))
    (archive / "notes").write_text("")
    command = program(
        tmp_path,
        archive,
        f"frame = archive.sql({SUM!r}).df()",
        "print(frame.ns.item(), archive.records, list(archive.left_out))",
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"{float(sum(range(1, MANY + 1)))} {MANY} ['notes']\n", done.stderr


def test_who_reads_for_long_keeps_nobody_waiting(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    add(archive, 1, 2)
    ask = f"print(archive.sql({SUM!r}).fetchall(), flush=True)"
    command = program(tmp_path, archive, ask, "sys.stdin.readline()", ask)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as long:
        assert long.stdin is not None
        assert long.stdout is not None
        before = long.stdout.readline()
        path_of(archive, 1).unlink()
        add(archive, 3)
        assert asked(archive, SUM) == total(2, 3)
        add(archive, 4)
        assert asked(archive, SUM) == total(2, 3, 4)
        rebuilt = query(archive, SUM, "--rebuild")
        assert (rebuilt.code, rebuilt.out) == (3, "")
        assert "another query reads the index now" in rebuilt.err
        long.stdin.write("\n")
        long.stdin.flush()
        assert long.stdout.readline() == before == "[(2, 3.0)]\n"  # as it was when it began
    assert long.returncode == 0
    add(archive, 5)
    assert asked(archive, SUM) == total(2, 3, 4, 5)
    assert len(segments(archive)) <= 3
