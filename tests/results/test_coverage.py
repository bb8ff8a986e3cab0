"""The simulated coverage of the estimators, with many repetitions; the unit tests run a short form."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("AMPGATE_BUILD_DIR", ROOT / "build"))


@pytest.mark.deep
def test_intervals_hold_the_truth() -> None:
    done = subprocess.run(
        [BUILD / "tests" / "test_results", "--gtest_filter=Coverage.*", "--gtest_brief=1"],
        env={**os.environ, "AMPGATE_COVERAGE_RUNS": "4000"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
