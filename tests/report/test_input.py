"""What is no record is refused with a word about where and what to do, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import report
from made_records import Json, record, sealed, write

Change = Callable[[Json], object]


def refused(folder: Path, data: bytes, *words: str, record: bool = True) -> None:
    (folder / "given.json").write_bytes(data)
    done = report("given.json", "--out", "page.html", cwd=folder)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("report: ")
    assert "Traceback" not in done.stderr
    for word in (*(["given.json"] if record else []), *words):
        assert word in done.stderr, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["given.json"]


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"hello", "given.json:1:1"),
        (b'{"ampgate_record": 1,\n "digest": tru}', "given.json:2:12"),
        (b'{"ampgate_record": 1', "no JSON"),
        (b"[1, 2]", "no record"),
        (b"3", "no record"),
        (b'{"name": "another file"}', "no key ampgate_record"),
        (b'{"ampgate_record": 3}', "version 3, which is newer"),
        (b'{"ampgate_record": true}', "version true"),
        (b'{"ampgate_record": {"a": 1}}', "version"),
        (b'{"ampgate_record": 1}', "required"),
        (b'{"ampgate_record": 2}', "required"),
        (b'{"ampgate_record": 0}', "version 0; this report reads versions 1 to 2"),
        (b'{"ampgate_record": 1, "ampgate_record": 1}', "twice"),
        (b'{"ampgate_record": 1, "x": NaN}', "NaN"),
        (b'{"ampgate_record": 1, "x": -Infinity}', "Infinity"),
        (b'{"ampgate_record": 1, "x": 1e999}', "too large"),
        (b'{"ampgate_record": 1, "x": ' + b"9" * 5000 + b"}", "too large"),
        (b'{"ampgate_record": 1, "x": "\xff"}', "UTF-8"),
        (b'{"ampgate_record": 1, "x": "\\ud800"}', "surrogate"),
        (b'{"x":' * 100_000 + b"1" + b"}" * 100_000, "too deeply"),
        (b"[" * 1_000_000, "too deeply"),
        (b"\x00\x01\x02", "no JSON"),
    ],
)
def test_no_record(tmp_path: Path, data: bytes, word: str) -> None:
    refused(tmp_path, data, word)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda made: made.pop("trials"), "trials"),
        (lambda made: made.update(trials=[]), "/trials"),
        (lambda made: made.update(trials={}), "/trials"),
        (lambda made: made["trials"][0].pop("verdict"), "/trials/0"),
        (lambda made: made["trials"][0].update(verdict="good"), "/trials/0/verdict"),
        (lambda made: made["trials"][0].update(id="../../x/y/z<b>"), "/trials/0/id"),
        (lambda made: made["trials"][0]["measurement"]["time_ns"].update(median="fast"), "/measurement/time_ns/median"),
        (lambda made: made["trials"][0]["measurement"].update(samples=[["a"] * 5]), "/measurement/samples/0/0"),
        (lambda made: made["trials"][0]["accuracy"]["kernel_error"].update(margin=None), "/trials/0/accuracy"),
        (lambda made: made["trials"][0]["accuracy"]["kernel_error"].update(margin="NaN"), "/trials/0/accuracy"),
        (lambda made: made.update(answer="yes"), "/answer"),
        (lambda made: made["device"].update(model=["a"]), "/device/model"),
        (lambda made: made["run"].update(started="yesterday"), "/run/started"),
        (lambda made: made["run"].update(started="2026-13-45T00:00:00Z"), "/run/started"),
        (lambda made: made["trials"].append(made["trials"][0]), "stands twice"),
        (lambda made: made.update(surprise=1), "surprise"),
    ],
)  # fmt: skip
def test_missing_and_mistyped_fields(tmp_path: Path, change: Change, where: str) -> None:
    made = record()
    change(made)
    refused(tmp_path, sealed(made), where)


def test_what_is_not_finite_or_huge_is_shown(tmp_path: Path) -> None:
    made = record()
    made["trials"][0]["accuracy"]["kernel_error"].update(margin="nan", max_abs_error="inf", mean_signed_error="-inf")
    made["trials"][1]["measurement"]["time_ns"].update(median=1e300, interval=[1e-300, 1e300])
    made["trials"][1]["accuracy"]["precision_cost"]["relative_rms_error"] = "nan"
    made["trials"][-1]["training"]["steps"]["loss"] = ["nan"] * 40
    write(made, tmp_path / "given.json")
    done = report("given.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    for word in (">nan<", ">inf<", ">-inf<", "the loss is nan at 40 steps"):
        assert word in page


@pytest.mark.parametrize("value", [5e-324, 1.7e308])
def test_numbers_at_the_ends_of_the_range(tmp_path: Path, value: float) -> None:
    made = record()
    measurement = made["trials"][1]["measurement"]
    measurement["speedup_over_fp32"].update(value=value, interval=[-1.0, value])
    measurement["tflops"].update(value=value, interval=[0.0, value])
    measurement["roofline"].update(share=value)
    made["trials"][1]["accuracy"]["kernel_error"].update(margin=value)
    made["trials"][1]["facts"]["flops"] = 10**19
    write(made, tmp_path / "given.json")
    done = report("given.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_numbers_that_cannot_be_drawn(tmp_path: Path) -> None:
    made = record()
    made["trials"][1]["measurement"]["speedup_over_fp32"].update(value=1.7e308, interval=[-1.7e308, 1.7e308])
    refused(tmp_path, sealed(made), "so large", record=False)


def test_altered(tmp_path: Path) -> None:
    data = sealed(record())
    refused(tmp_path, data.replace(b'"pass"', b'"suspect"', 1), "own digest")
    refused(tmp_path, data + b" ", "own digest")
    refused(tmp_path, data[: len(data) // 2], "no JSON")


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for given, word in (("folder", "is a folder"), ("pipe", "no regular file"), ("nothing.json", "No such file")):
        done = report(given, cwd=tmp_path)
        assert (done.returncode, word in done.stderr) == (2, True), done.stderr
    assert report(cwd=tmp_path).returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_one_bad_of_two_writes_nothing(tmp_path: Path) -> None:
    write(record(), tmp_path / "good.json")
    (tmp_path / "bad.json").write_text("{")
    assert report("good.json", "bad.json", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "report.html").exists()


def test_only_a_report_is_overwritten(tmp_path: Path) -> None:
    path = write(record(), tmp_path / "given.json")
    before = path.read_bytes()
    done = report("given.json", "--out", "given.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "no report" in done.stderr
    assert path.read_bytes() == before
    for _ in range(2):
        assert report("given.json", cwd=tmp_path).returncode == 0
    first = (tmp_path / "report.html").read_bytes()
    assert report("given.json", "--out", "other.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "other.html").read_bytes() == first  # the same record gives the same page
    assert sorted(made.name for made in tmp_path.iterdir()) == ["given.json", "other.html", "report.html"]


@pytest.mark.parametrize(
    ("target", "code"), [("none/page.html", 2), (".", 2), ("/dev/full", 2), ("/proc/page.html", 3)]
)
def test_where_nothing_can_be_written(tmp_path: Path, target: str, code: int) -> None:
    write(record(), tmp_path / "given.json")
    done = report("given.json", "--out", target, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_names_of_files_are_no_paths(tmp_path: Path) -> None:
    """A record's id and device name nothing that is written."""
    made = record(name="../../escape")
    made["id"] = "../../escape"
    write(made, tmp_path / "given.json")
    (tmp_path / "inside").mkdir()
    assert report("../given.json", cwd=tmp_path / "inside").returncode == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["given.json", "inside", "report.html"]


def test_file_name_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff<b>.json")).write_bytes(sealed(record()))
    done = report(os.fsdecode(b"\xff<b>.json"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "&lt;b&gt;.json" in (tmp_path / "report.html").read_text()


def test_the_same_record_twice_is_one(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(record(), tmp_path / name)
    done = report("a.json", "b.json", cwd=tmp_path)
    assert done.returncode == 0
    assert "b.json is the same record as a.json" in done.stderr
    assert "choose-record" not in (tmp_path / "report.html").read_text()[:20_000]
