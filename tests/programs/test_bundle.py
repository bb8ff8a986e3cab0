"""Bundles run where neither this build nor its Python environment is, and the script that qualifies a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, is_fine, records

MIB = 2**20
RUN = ["run", "--device", "cpu", "--suite", "smoke", "--case", "exp", "--precision", "cast-bf16"]


def bundle(folder: Path, *options: str) -> tuple[Path, Path]:
    """The archive, and where it was unpacked."""
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "bundle.py", *options, "--out", folder],
        capture_output=True, text=True, check=False, env={**os.environ, "AMPGATE_BUILD_DIR": str(BUILD)},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (archive,) = folder.glob("*.tar.gz")
    assert str(archive) in made.stdout
    subprocess.run(["tar", "xf", archive, "-C", folder], check=True)
    return archive, folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def slim(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return bundle(tmp_path_factory.mktemp("slim"), "--slim")


def start(prefix: Path, *arguments: str | Path, path: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [prefix / "bin" / "ampgate", *arguments], env={"PATH": path, **env}, capture_output=True, text=True, check=False
    )


def test_a_slim_bundle_is_small_and_holds_no_libtorch(slim: tuple[Path, Path]) -> None:
    archive, prefix = slim
    assert archive.stat().st_size < 60 * MIB
    assert not list(prefix.rglob("libtorch*"))
    assert (prefix / "scripts" / "qualify_gpu").stat().st_mode & 0o111


def test_a_slim_bundle_uses_the_torch_of_the_python_on_path(slim: tuple[Path, Path], tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = start(slim[1], *RUN, "--archive", tmp_path / "a", path=f"{tmp_path}:/usr/bin:/bin")
    assert is_fine(done.returncode, done.stdout), done.stdout + done.stderr
    assert len(records(tmp_path / "a")) == 1


@pytest.mark.parametrize("how", ["option", "variable"])
def test_another_torch_is_refused_by_name(slim: tuple[Path, Path], tmp_path: Path, how: str) -> None:
    other = tmp_path / "torch"
    other.mkdir()
    (other / "version.py").write_text("__version__ = '2.10.0+cu128'\ndebug = False\n")
    option = ["--torch", str(other)] if how == "option" else []
    env = {"AMPGATE_TORCH": str(other)} if how == "variable" else {}
    done = start(slim[1], "devices", *option, path="/nowhere", **env)
    assert done.returncode == 3
    assert f"{other} is torch 2.10.0+cu128" in done.stderr
    assert "these workers are for torch 2.1" in done.stderr


def test_without_any_torch_it_says_what_to_do(slim: tuple[Path, Path], tmp_path: Path) -> None:
    done = start(slim[1], *RUN, "--archive", tmp_path / "a", path=str(tmp_path))
    assert done.returncode == 3
    assert "come without LibTorch" in done.stderr
    assert "--torch" in done.stderr
    no_package = start(slim[1], "devices", "--torch", str(tmp_path), path="/nowhere")
    assert no_package.returncode == 3
    assert "is no torch package" in no_package.stderr


@pytest.mark.deep
@pytest.mark.skipif(os.geteuid() != 0, reason="a root of its own needs the right to make one")
def test_a_complete_bundle_needs_the_c_library_alone(tmp_path: Path) -> None:
    _, prefix = bundle(tmp_path, "--cpu")
    root = tmp_path / "root"
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    folder = Path("/lib/x86_64-linux-gnu")
    wanted = [loader, *(folder / f"lib{name}" for name in ("c.so.6", "m.so.6", "dl.so.2", "rt.so.1", "pthread.so.0"))]
    for path in wanted:
        (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path.relative_to("/"))
    (root / "proc").mkdir()
    (root / "tmp").mkdir()
    shutil.move(prefix, root / "bundle")
    program = f"/bundle/bin/ampgate {' '.join(RUN)} --archive /tmp/a"
    command = f"mount -t proc proc {root}/proc && exec chroot {root} {program}"
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-c", command], capture_output=True, text=True, check=False
    )
    assert is_fine(done.returncode, done.stdout), done.stdout + done.stderr
    assert len(records(root / "tmp" / "a")) == 1


def qualify(out: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    """The exit code, and what was said of each step."""
    script = ROOT / "scripts" / "qualify_gpu"
    done = subprocess.run([script, "--out", out, *arguments], capture_output=True, text=True, check=False)
    lines = (out / "summary.txt").read_text().splitlines() if (out / "summary.txt").exists() else []
    assert done.stdout.splitlines() == lines, done.stderr
    return done.returncode, {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}


STEPS = ("fingerprint", "selftest", "smoke", "standard", "large", "training", "decide")


def test_a_dry_run_shows_every_step(tmp_path: Path) -> None:
    code, said = qualify(tmp_path / "out", "--dry-run")
    assert code == 0
    for step in STEPS:
        assert said[step].startswith("would run: ampgate ")


def test_a_device_that_is_not_there_skips_every_step(tmp_path: Path) -> None:
    code, said = qualify(tmp_path / "out", "--device", "cuda:77")
    assert code == 3
    assert "cuda:77 is not usable here" in said["device"]
    for step in STEPS:
        assert said[step] == "skipped: no usable GPU"


def test_what_does_not_fit_into_the_time_is_skipped(tmp_path: Path) -> None:
    code, said = qualify(tmp_path / "out", "--device", "cpu", "--seconds", "9")
    assert said["fingerprint"] == "exit code 0: fingerprint.txt"
    assert (tmp_path / "out" / "fingerprint.txt").read_text().startswith("{")
    assert "are left, and it takes at least" in said["standard"]
    assert code == 5


@pytest.mark.parametrize("arguments", [("--seconds", "soon"), ("--devices", "cpu"), ("--out",)])
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    script = ROOT / "scripts" / "qualify_gpu"
    done = subprocess.run([script, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: qualify_gpu ")
