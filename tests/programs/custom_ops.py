"""Libraries of operators, built for the tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

from conftest import ROOT

SOURCES = ROOT / "tests" / "custom_ops"
EXAMPLE = ROOT / "examples" / "custom_op"


def libtorch() -> Path:
    return Path(importlib.util.find_spec("torch").submodule_search_locations[0])


def start_compiling(source: Path, library: Path, *flags: str) -> subprocess.Popen[str]:
    """A shared library from one source, against the LibTorch of the workers."""
    torch = libtorch()
    compiler = os.environ.get("CXX", "c++")
    return subprocess.Popen(
        [compiler, "-std=c++20", "-fPIC", "-shared", *flags, source, "-o", library, f"-I{torch}/include",
         f"-I{torch}/include/torch/csrc/api/include"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def finish(*compilers: subprocess.Popen[str]) -> None:
    for compiler in compilers:
        output, _ = compiler.communicate(timeout=300)
        assert compiler.returncode == 0, output


def build_example(folder: Path) -> Path:
    """As its README says: CMake and Ninja, nothing of ampgate."""
    for command in (
        ["cmake", "-S", EXAMPLE, "-B", folder, "-G", "Ninja", f"-DLIBTORCH={libtorch()}"],
        ["cmake", "--build", folder],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder
