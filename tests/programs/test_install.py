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
    assert len(list((tmp_path / "archive").glob("*/*.json"))) == 1
