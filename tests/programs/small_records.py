"""Records of a few trials, made by hand, that fit their schema: for tests of what reads an archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import ROOT
from test_compare import write

RULES = json.loads((ROOT / "results" / "rules" / "default.json").read_text())
MODELS = {"cpu": "Fake CPU", "cuda:0": "Fake H200", "rocm:0": "Fake MI300X"}


def small_record(
    number: int = 1,
    device: str = "cpu",
    trials: list[dict[str, Any]] | None = None,
    **more: Any,  # noqa: ANN401
) -> dict[str, Any]:
    run_id = f"20260131T0102{number:02d}Z-{number:08x}"
    return {
        "ampgate_record": 2,
        "digest": "0" * 64,
        "id": run_id,
        "run": {
            "id": run_id,
            "command": "run",
            "command_line": "ampgate run",
            "started": f"2026-01-31T01:02:{number:02d}Z",
            "finished": "2026-01-31T01:10:00Z",
            "ampgate": "0.1.0",
            "times_resumed": 0,
            "phases": [{"name": "validate", "wall_time_ns": 1}],
            "plan_sha256": "a" * 64,
        },
        "plan": {
            "device": device,
            "suite": "smoke",
            "seed": 2**63 + number,
            "selection": {"cases": [], "precisions": []},
            "settings": {"threads": 2, "affinity": [0, 1]},
            "phases": ["validate"],
            "schedule": {
                "processes": 3,
                "blocks_per_process": 7,
                "cell_time_ms": 15.0,
                "extra_modes": [],
                "sustained_s": 30.0,
            },
        },
        "environment": {
            "host": "here",
            "kernel": "Linux",
            "cpus": [0, 1],
            "worker": {"folder": "w", "build_id": "b" * 64, "libtorch": "2.11.0"},
            "variables": {"set": {}, "removed": {}},
            "absent": {"governor": "this kernel shows none"},
        },
        "device": {"name": device, "uuid": f"uuid-{device}", "model": MODELS[device], "fields": {"driver": "5.1"}},
        "rules": RULES,
        "rules_sha256": "c" * 64,
        "trials": trials or [small_trial()],
        **more,
    }


def small_trial(precision: str = "cast-fp16", time_ns: float = 1000.0, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "id": f"matmul/2x3x4/{precision}",
        "case": "matmul",
        "shape": {"name": "2x3x4", "dims": {"m": 2, "n": 3, "k": 4}},
        "precision": precision,
        "verdict": "pass",
        "reason": "",
        "accuracy": {
            "kernel_error": {"criterion": "bound", "output": "out", "margin": 0.25, "elements": 6},
            "repeatable_in_process": True,
        },
        "decisions": {},
        "operators": [
            {"name": "aten::mm", "inputs": ["float16", "float16"], "outputs": ["float16"], "count": 2},
            {"name": "aten::copy_", "inputs": ["float32"], "outputs": ["float16"], "count": 1},
        ],
        "facts": {"flops": 48.0, "bytes": 52.0, "meaning": "values"},
        "evidence": {
            "device": {"name": "cpu", "uuid": "uuid-cpu", "model": MODELS["cpu"], "fields": {}},
            "libtorch": {"version": "2.11.0"},
            "build_id": "b" * 64,
            "settings": {"threads": "2"},
            "case": "matmul",
            "shape": "2x3x4",
            "precision": precision,
            "seed": 1,
            "rules_sha256": "c" * 64,
            "inputs": {"a": "1" * 32},
            "weights": {},
            "outputs": {"out": "2" * 32},
            "operators": [],
        },
        "measurement": small_measurement(time_ns),
        **more,
    }


def small_measurement(time_ns: float = 1000.0, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "verdict": "measured",
        "reason": "",
        "time_ns": {
            "median": time_ns,
            "interval": [0.9 * time_ns, 1.1 * time_ns],
            "level": 0.95,
            "mad": 1.5,
            "samples": 21,
            "processes": 3,
            "lag1": "nan",
            "drift_per_block": 0.0,
            "method": "by hand",
            "absent": {"lag1_p": "too few blocks"},
        },
        "samples": [[0, 0, 0, 1, time_ns]],
        "absent": {"tflops": "none are counted", "memory": "was not looked at"},
        **more,
    }


def archived(archive: Path, *records: dict[str, Any]) -> list[Path]:
    """Writes records where a run would."""
    paths = []
    for record in records:
        path = archive / record["device"]["name"].replace(":", "-") / f"{record['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        paths.append(write(path, record))
    return paths
