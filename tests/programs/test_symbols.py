"""Nothing of phase 1 is in the program that measures: no validation code can stand in a timed body."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import BUILD


def symbols(program: Path) -> set[str]:
    listing = subprocess.run(
        ["nm", "--demangle", "--format=just-symbols", program], capture_output=True, text=True, check=True
    )
    return set(listing.stdout.splitlines())


def worker(name: str) -> Path:
    found = list(BUILD.glob(f"libexec/ampgate/*/{name}"))
    assert found, f"{name} is not built"
    return found[0]


@pytest.mark.parametrize(("program", "own"), [("ampgate-bench", "bench"), ("ampgate-validate", "validate")])
def test_symbols_can_be_seen(program: str, own: str) -> None:
    assert any(f"ampgate::{own}::" in symbol for symbol in symbols(worker(program)))


@pytest.mark.parametrize("of_phase_1", ["ampgate::validate", "AmpgateValidate", "GenericMode"])
def test_bench_worker_holds_nothing_of_validate(of_phase_1: str) -> None:
    assert not [symbol for symbol in symbols(worker("ampgate-bench")) if of_phase_1 in symbol]


def test_validate_worker_holds_nothing_of_bench() -> None:
    held = symbols(worker("ampgate-validate"))
    assert not [symbol for symbol in held if "ampgate::bench" in symbol or "benchmark::RunSpecified" in symbol]
