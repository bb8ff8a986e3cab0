"""The scripts that start programs, and what the workers say when started by hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, ROOT


@pytest.mark.parametrize(
    ("script", "program"),
    [("ampgate", "build/bin/ampgate"), ("ampgate-validate", "build/libexec/ampgate/torch-9/ampgate-validate")],
)
def test_started_through_a_link(tmp_path: Path, script: str, program: str) -> None:
    checkout = tmp_path / "check out"
    (checkout / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / script, checkout / "scripts")
    for stand_in in ("scripts/bootstrap", program):
        path = checkout / stand_in
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\necho "$(basename "$0") $*"\n')
        path.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "first").symlink_to(f"../check out/scripts/{script}")
    (tmp_path / "bin" / "second").symlink_to("first")
    done = subprocess.run([tmp_path / "bin" / "second", "word"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["bootstrap ", f"{script} word"]


@pytest.mark.parametrize("program", ["ampgate-validate", "ampgate-bench"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_the_workers(program: str, option: str) -> None:
    (worker,) = BUILD.glob(f"libexec/ampgate/torch-*/{program}")
    done = subprocess.run([worker, option], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {program} ")
    assert done.stderr == ""


def test_git_ignores_what_is_made_here_even_through_links(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run([git, "init", "--quiet", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    (tmp_path / "results").mkdir()
    for made in (".venv", ".venv-query", "build", "install", "results/archive"):
        (tmp_path / made).symlink_to("/")
    status = [git, "-C", tmp_path, "status", "--porcelain", "--untracked-files=all"]
    done = subprocess.run(status, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["??", ".gitignore"]
