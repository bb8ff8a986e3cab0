"""The launcher, and how the packages that a script needs get there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Scripts alone, in a folder whose name has a space."""
    scripts = tmp_path / "check out" / "scripts"
    scripts.mkdir(parents=True)
    for name in ("report", "python_for"):
        shutil.copy(ROOT / "scripts" / name, scripts)
    return scripts


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_started_through_a_link(tmp_path: Path, checkout: Path) -> None:
    (checkout / "requirements-report.txt").write_text("# nothing\n")
    (checkout / "report.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(5)\n")
    (tmp_path / "link").symlink_to(checkout / "report")
    done = run(tmp_path / "link", "a b.json", "--out", "x.html")
    assert (done.returncode, done.stdout) == (5, "['a b.json', '--out', 'x.html']\n"), done.stderr


def test_packages_are_installed_once_and_when_they_change(checkout: Path) -> None:
    requirements = checkout / "requirements-some.txt"
    requirements.write_text("# nothing\n")
    expected = f"{checkout.parent}/.venv-some/env/bin/python\n"
    first, second = run(checkout / "python_for", "some"), run(checkout / "python_for", "some")
    assert (first.returncode, first.stdout, second.stdout, second.stderr) == (0, expected, expected, "")
    assert "installing" in first.stderr
    prefix = run(expected.strip(), "-c", "import sys; print(sys.prefix)")
    assert prefix.stdout == f"{checkout.parent}/.venv-some/env\n"  # where its packages are
    requirements.write_text("# other\n")
    assert "installing" in run(checkout / "python_for", "some").stderr
    requirements.write_text("a package that is none\n")
    failed = run(checkout / "python_for", "some")
    assert failed.returncode == 3
    assert "could not be installed" in failed.stderr
    assert failed.stdout == ""
    assert run(checkout / "python_for", "some").returncode == 3  # tried again


def test_where_nothing_can_be_installed(checkout: Path) -> None:
    (checkout / "requirements-some.txt").write_text("# nothing\n")
    (checkout.parent / ".venv-some").write_text("a file in the way")
    done = run(checkout / "python_for", "some")
    assert done.returncode == 3
    assert "cannot be written" in done.stderr
