"""The table of recommendations is what `ampgate decide` says, and the page says where it was not asked."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, page_of, report
from made_records import Json, record, write
from pages import details
from report_page import words
from report_page.choices import find_ampgate


@pytest.fixture
def ampgate() -> Path:
    found = find_ampgate()
    if found is None:
        pytest.skip("ampgate is not built here")
    return found


def decided(ampgate: Path, *paths: Path) -> list[Json]:
    done = subprocess.run([ampgate, "decide", "--json", *paths], capture_output=True, check=True)
    return json.loads(done.stdout)


def rows(markup: str, table: str) -> list[str]:
    """What stands in each row, without tags."""
    body = re.search(rf'id="{table}".*?<tbody>(.*?)</tbody>', markup, re.DOTALL)[1]
    return [re.sub(r"<[^>]*>", " ", row) for row in body.split("<tr>")[1:]]


def test_each_case_with_its_reason_and_numbers(tmp_path: Path, ampgate: Path, one_record: Json) -> None:
    made = copy.deepcopy(one_record)
    measured = {trial["id"]: trial.get("measurement") for trial in made["trials"]}
    for way in ("autocast", "cast"):
        measured[f"operator_1/64x64x64/{way}-bf16"]["speedup_over_fp32"] |= {"value": 9.0, "interval": [8.5, 9.5]}
        fp16 = measured[f"operator_1/64x64x64/{way}-fp16"]
        fp16["speedup_over_fp32"] |= {"value": 0.5, "interval": [0.4, 0.6]}
        fp16["fp16_to_bf16"] |= {"value": 18.0, "interval": [17.0, 19.0]}
    page = page_of(tmp_path, made)
    entries = decided(ampgate, tmp_path / "record0.json")
    shown = rows(details(page)["html"], "recommendations")
    assert len(shown) == len(entries) >= 6
    assert {"autocast-bf16", "cast-bf16"} & {entry["recommendation"].get("precision") for entry in entries}
    for row, entry in zip(shown, entries, strict=True):
        assert entry["recommendation"]["in_words"].replace("'", "&#x27;") in row
        for kind in ("fp16", "bf16"):
            if kind not in entry:
                assert entry["absent"][kind] in row
                continue
            assert words.number(entry[kind].get("margin", 0)) in row
            assert words.ratio(entry[kind]["speedup_over_fp32"]["value"]) in row
            assert words.ratio(entry[kind]["memory_to_fp32"]) in row
        if "fp16_to_bf16" in entry:
            assert words.ratio(entry["fp16_to_bf16"]["value"]) in row


def test_devices_side_by_side(ampgate: Path, several_page: Path, several_records: list[Json]) -> None:
    entries = decided(ampgate, *(several_page.parent / f"record{index}.json" for index in range(len(several_records))))
    shown = rows(several_page.read_text(), "choices-by-device")
    assert len(shown) == len({(entry["case"], entry["shape"]) for entry in entries})
    newest = {"cpu": several_records[2], "GPU-a": several_records[4], "GPU-b": several_records[5]}
    for one in newest.values():
        for entry in (entry for entry in entries if entry["record"] == one["id"]):
            (row,) = (row for row in shown if row.split()[0] == entry["case"])
            assert entry["recommendation"]["in_words"].replace("'", "&#x27;") in row


def test_without_ampgate_the_page_says_so(tmp_path: Path) -> None:
    """Scripts that were copied without it."""
    for name in ("scripts", "results/schema", "results/migrations"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / name)
    write(record(), tmp_path / "given.json")
    command = [sys.executable, tmp_path / "copy" / "scripts" / "report.py", tmp_path / "given.json"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "A recommendation: not here." in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        ("exit 7", 3, "ended with exit code 7"),
        ("echo 'ampgate: it is broken' >&2; echo '  mend it' >&2; exit 2", 2, "report: it is broken\n  mend it\n"),
        ("exit 0", 3, "no JSON"),
    ],
)
def test_an_ampgate_that_fails(tmp_path: Path, program: str, code: int, words: str) -> None:
    write(record(), tmp_path / "given.json")
    fake = tmp_path / "ampgate"
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    done = report("given.json", "--ampgate", fake, cwd=tmp_path)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "report.html").exists()


def test_an_ampgate_that_is_not_there(tmp_path: Path) -> None:
    write(record(), tmp_path / "given.json")
    done = report("given.json", "--ampgate", "missing/ampgate", cwd=tmp_path)
    assert done.returncode == 3
    assert "missing/ampgate cannot be started" in done.stderr
