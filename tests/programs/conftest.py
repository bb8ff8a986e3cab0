"""Where the programs are, and how the tests start them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("AMPGATE_BUILD_DIR", ROOT / "build"))
AMPGATE = BUILD / "bin" / "ampgate"
TEST_WORKER = BUILD / "tests" / "libexec" / "ampgate" / "test"


# The examples that are built here are built by several tests.
if shutil.which("ccache"):
    os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")

LONGEST = ("test_documents", "test_selftest")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files begin, so that nobody waits for one of them at the end. A file runs in one process, since its
    tests share what was made for them."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


# Reasons for which a time is `ambiguous` that lie in the machine, not in what was measured.
BUSY = (
    "blocks were disturbed",
    "the processes lie so far apart",
    "the processes are too few for how far they lie apart",
)


def is_fine(code: int, out: str) -> bool:
    return code == 0 or (code == 5 and any(reason in out for reason in BUSY))


@dataclass
class Result:
    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.out)

    @property
    def fine(self) -> bool:
        """All is well, or all but times that this machine is too busy for."""
        return is_fine(self.code, self.out)


def ampgate(
    *arguments: str | Path, cwd: Path | None = None, timeout: float = 300, env: dict[str, str] | None = None
) -> Result:
    """Runs the driver; never raises for an exit code."""
    done = subprocess.run(
        [AMPGATE, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def has_a_time(trial: dict[str, Any]) -> bool:
    """Measured, or with the label of a machine on which too many blocks were disturbed."""
    measurement = trial["measurement"]
    if measurement["verdict"] == "ambiguous":
        return any(reason in measurement["reason"] for reason in BUSY)
    return measurement["verdict"] == "measured"


def records(archive: Path) -> list[Path]:
    """All records in an archive, oldest first."""
    return sorted(path for path in archive.glob("*/*.json") if not path.parent.name.startswith("."))


def journals(archive: Path) -> list[Path]:
    return sorted(archive.glob("*/*.journal.jsonl"))


@pytest.fixture(scope="session")
def fake_worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A worker folder without LibTorch: both programs are tests/driver_fake/worker.py."""
    folder = tmp_path_factory.mktemp("worker") / "fake"
    folder.mkdir()
    for name in ("ampgate-validate", "ampgate-bench"):
        shutil.copy(ROOT / "tests" / "driver_fake" / "worker.py", folder / name)
        (folder / name).chmod(0o755)
    made = subprocess.run([folder / "ampgate-validate", "manifest"], capture_output=True, text=True, check=True)
    (folder / "cases.json").write_text(made.stdout)
    return folder


@pytest.fixture(scope="session")
def smoke_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of two cases in all precisions, shared by the tests that only read it."""
    archive = tmp_path_factory.mktemp("smoke")
    result = ampgate("run", "--suite", "smoke", "--case", "matmul", "--case", "softmax", "--archive", archive)
    assert result.fine, result.err + result.out
    (record,) = records(archive)
    return record
