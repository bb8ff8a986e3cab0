"""Bad usage, bad files and bad surroundings: one clear message, the right exit code, nothing lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import AMPGATE, BUILD, ampgate, records


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--case", "matmull"], "matmul"),
        (["run", "--suite", "smok"], "smoke"),
        (["run", "--precision", "cast-fp8"], "cast-fp16"),
        (["run", "--no-such-flag"], "--no-such-flag"),
        (["run", "--seed", "x"], "seed"),
        (["frobnicate"], "frobnicate"),
        ([], "run"),
        (["bench"], "--evidence"),
        (["bench", "--evidence", "/nonexistent.json"], "/nonexistent.json"),
        (["run", "--rules", "/nonexistent.json"], "/nonexistent.json"),
    ],
)
def test_bad_usage(arguments: list[str], words: str, tmp_path: Path) -> None:
    result = ampgate(*arguments, cwd=tmp_path)
    assert result.code == 2, result.out + result.err
    assert words in result.err
    assert not list(tmp_path.rglob("*.json*"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "rules.json"),
        ("{", "rules.json:1:"),
        ("[]", "object"),
        ('{"trial_limit_s": "long"}', "/trial_limit_s"),
        ('{"trial_limit_s": -1}', "/trial_limit_s"),
        ('{"trial_limit": 1}', "trial_limit_s"),
        ('{"trial_limit_s": 1, "trial_limit_s": 2}', "trial_limit_s"),
        ('{"bounds": {"lambda": NaN}}', "rules.json:1:"),
        ('{"bounds": {"lambada": 4}}', "lambda"),
    ],
)
def test_bad_rules(text: str, words: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(text)
    result = ampgate("run", "--suite", "smoke", "--rules", rules, "--archive", tmp_path / "archive")
    assert result.code == 2
    assert words in result.err
    assert "rules.json" in result.err


def test_unknown_devices(tmp_path: Path) -> None:
    result = ampgate("run", "--suite", "smoke", "--device", "gpu", "--archive", tmp_path)
    assert result.code == 2
    assert "cuda:0" in result.err
    result = ampgate("run", "--suite", "smoke", "--device", "cuda:0", "--archive", tmp_path)
    assert result.code == 3
    assert "cuda" in result.err
    assert not records(tmp_path)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: "", "empty"),
        (lambda text: text[: len(text) // 2], "evidence.json:"),
        (lambda text: text.replace('"pass"', '"suspect"', 1), "digest"),
        (lambda text: re.sub(r'"ampgate_record":( ?)2', r'"ampgate_record":\g<1>99', text, count=1), "99, which"),
        (lambda text: '{"some": "other JSON"}', "ampgate_record"),
        (lambda text: "[1, 2]", "object"),
    ],
)  # fmt: skip
def test_evidence_that_cannot_be_trusted(smoke_record: Path, tmp_path: Path, damage, words: str) -> None:  # noqa: ANN001
    evidence = tmp_path / "evidence.json"
    evidence.write_text(damage(smoke_record.read_text()))
    result = ampgate("bench", "--evidence", evidence, "--archive", tmp_path / "archive")
    assert result.code == 2, result.out + result.err
    assert "evidence.json" in result.err
    assert words in result.err


def test_evidence_is_a_folder(tmp_path: Path) -> None:
    result = ampgate("bench", "--evidence", tmp_path, "--archive", tmp_path / "archive")
    assert result.code == 2
    assert str(tmp_path) in result.err


def test_archive_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("")
    result = ampgate("run", "--suite", "smoke", "--case", "exp", "--archive", tmp_path / "archive")
    assert result.code == 3
    assert "archive" in result.err


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=False).returncode != 0:
        pytest.skip("this machine does not let us mount a tmpfs")
    try:
        result = ampgate("run", "--suite", "smoke", "--archive", small)
        assert result.code == 3
        assert "space" in result.err.lower()
        assert not records(small)
    finally:
        subprocess.run(["umount", small], check=True)


def copied_programs(tmp_path: Path) -> Path:
    """bin/ and libexec/ as in the build tree, for damaging."""
    for part in ("bin", "libexec", "share"):
        shutil.copytree(BUILD / part, tmp_path / part, symlinks=True)
    return tmp_path / "bin" / AMPGATE.name


def run_copy(program: Path, archive: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, "run", "--suite", "smoke", "--case", "exp", "--archive", archive],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_worker_missing(tmp_path: Path) -> None:
    program = copied_programs(tmp_path)
    for worker in tmp_path.glob("libexec/ampgate/*/ampgate-bench"):
        worker.unlink()
    done = run_copy(program, tmp_path / "archive")
    assert done.returncode == 3
    assert "ampgate-bench" in done.stderr


def test_worker_of_another_build(tmp_path: Path) -> None:
    program = copied_programs(tmp_path)
    for manifest in tmp_path.glob("libexec/ampgate/*/cases.json"):
        content = json.loads(manifest.read_text())
        content["build_id"] = "f" * 64
        manifest.write_text(json.dumps(content))
    done = run_copy(program, tmp_path / "archive")
    assert done.returncode == 3
    assert "build" in done.stderr
