"""What `cmake --install` puts elsewhere runs there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conftest import BUILD, ROOT, is_fine


def test_installed_programs_run(tmp_path: Path) -> None:
    cmake = ROOT / ".venv" / "bin" / "cmake"
    prefix = tmp_path / "a folder"
    subprocess.run([cmake, "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    command = [prefix / "bin" / "ampgate", "run", "--suite", "smoke", "--archive", tmp_path / "archive"]
    for case in ("exp", "mlp_regressor"):
        command += ["--case", case]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert is_fine(done.returncode, done.stdout), done.stderr
    (record,) = (tmp_path / "archive").glob("*/*.json")
    report_elsewhere(prefix, record, tmp_path)


def report_elsewhere(prefix: Path, record: Path, folder: Path) -> None:
    """With the packages of this clone: installing them once more would take longer than all else."""
    subprocess.run([ROOT / "scripts" / "python_for", "report"], check=True, capture_output=True)
    (prefix / "share" / "ampgate" / ".venv-report").symlink_to(ROOT / ".venv-report")
    started = {"cwd": folder, "capture_output": True, "text": True, "check": False}
    done = subprocess.run([prefix / "bin" / "ampgate", "report", record, "--out", "a page.html"], **started)
    assert done.returncode == 0, done.stderr
    page = (folder / "a page.html").read_text()
    assert 'id="recommendations"' in page
    done = subprocess.run([prefix / "bin" / "ampgate", "report", folder / "missing.json"], **started)
    assert (done.returncode, "missing.json cannot be read" in done.stderr) == (2, True), done.stderr
    done = subprocess.run([prefix / "bin" / "ampgate", "report", record, "--out", "no/such/x.html"], **started)
    assert done.returncode == 2, done.stderr
    (prefix / "share" / "ampgate" / "scripts" / "report").unlink()
    done = subprocess.run([prefix / "bin" / "ampgate", "report", record], **started)
    assert (done.returncode, "cannot be started" in done.stderr) == (3, True), done.stderr
