"""The folders include only downwards, and the driver stays free of LibTorch."""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import AMPGATE, BUILD, ROOT

ALLOWED = {
    "results": set(),
    "precision": set(),
    "backends": {"results"},
    "cases": {"precision", "results"},
    "validate": {"cases", "precision", "backends", "results"},
    "bench": {"cases", "precision", "backends", "results"},
    "driver": {"results"},
}
LIBTORCH = re.compile(r'#\s*include\s*[<"](ATen|c10|torch)/')
INCLUDE = re.compile(r'#\s*include\s*"([a-z_]+)/[^"]+"')


@pytest.mark.parametrize("folder", ALLOWED)
def test_folder_includes_only_downwards(folder: str) -> None:
    files = [file for suffix in ("h", "cpp", "cu", "hip") for file in (ROOT / folder).rglob(f"*.{suffix}")]
    assert files
    for file in files:
        text = file.read_text()
        for included in INCLUDE.findall(text):
            if included in ALLOWED:
                assert included == folder or included in ALLOWED[folder], f"{file} includes {included}/"
        if folder in ("results", "driver"):
            assert not LIBTORCH.search(text), f"{file} includes LibTorch"


def needed_libraries(program: str) -> str:
    return subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout


def test_driver_links_no_libtorch() -> None:
    assert "torch" not in needed_libraries(str(AMPGATE))


def test_workers_link_the_cpu_part_alone() -> None:
    workers = list(BUILD.glob("libexec/ampgate/*/ampgate-*"))
    assert len(workers) == 2
    for worker in workers:
        libraries = needed_libraries(str(worker))
        assert "libtorch_cpu" in libraries
        assert "libtorch_cuda" not in libraries
        assert "libcudart" not in libraries
