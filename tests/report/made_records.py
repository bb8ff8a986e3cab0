"""Records made for the tests: small, valid by the schema, sealed, and with numbers that the tests know."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ZEROS = "0" * 64
RULES = json.loads((Path(__file__).parents[2] / "results" / "rules" / "default.json").read_text())
PRECISIONS = ("fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16")
OPERATORS = [{"name": "aten::matmul", "inputs": ["float16", "float16"], "outputs": ["float16"], "count": 2}]
METHOD = "Student's t over the medians of processes (log scale)"


def estimate(name: str, value: float, half: float) -> Json:
    return {
        name: value, "interval": [value * (1 - half), value * (1 + half)], "level": 0.95, "mad": value / 50,
        "samples": 21, "processes": 3, "lag1": 0.1, "drift_per_block": 0.001, "method": METHOD,
    }  # fmt: skip


def ratio(value: float, half: float) -> Json:
    return {**estimate("value", value, half), "in_words": f"{value:.2f} times"}


def measurement(rng: random.Random, precision: str, samples: int = 21) -> Json:
    median = rng.uniform(1e4, 1e7)
    made: Json = {
        "verdict": "measured", "reason": "", "output_check": "digest", "cells_checked": samples,
        "time_ns": estimate("median", median, 0.03) | {"calls_per_cell": 4},
        "tflops": {"value": rng.uniform(0.01, 0.9), "share_of_ceiling": 0.5},
        "roofline": {"bound_by": "compute", "share": rng.uniform(0.05, 1.2), "in_cache": True,
                     "flops_per_byte": rng.uniform(0.5, 90)},
        "memory": {"peak_bytes": rng.randrange(10**4, 10**8), "allocations": 2, "retained_bytes": 0,
                   "resident_growth_bytes": 0,
                   "peak_parts_bytes": {"bytes": 4096, "outputs": 2048, "casts": 0, "intermediates": 0,
                                        "workspaces": {"aten::matmul": 2048}}},
        "samples": [[row % 3, row // 3, 0, 4, median * 4 * rng.uniform(0.97, 1.05)] for row in range(samples)],
        "absent": {"gbps": "not counted"}, "stopped_by": "fixed number of blocks",
    }  # fmt: skip
    made["tflops"]["interval"] = [made["tflops"]["value"] * 0.95, made["tflops"]["value"] * 1.05]
    if precision != "fp32":
        made["speedup_over_fp32"] = ratio(10 ** rng.uniform(-1.5, 0.7), 0.05)
    if "fp16" in precision:
        made["fp16_to_bf16"] = ratio(10 ** rng.uniform(-0.5, 1.5), 0.05)
    return made


def trial(case: str, precision: str, rng: random.Random, *, shape: str = "64x64x64", measured: bool = True) -> Json:
    identity = f"{case}/{shape}/{precision}"
    error = {
        "criterion": "inner-product bound", "output": "out", "margin": rng.uniform(0.001, 0.95), "elements": 4096,
        "max_abs_error": 1e-3, "bound": 1e-2, "position": [1, 2], "max_ulp": 3, "mean_signed_error": 1e-6,
    }  # fmt: skip
    made: Json = {
        "id": identity, "case": case, "shape": {"name": shape, "dims": {"m": 64}}, "precision": precision,
        "verdict": "pass", "reason": "",
        "accuracy": {"repeatable_in_process": True, "repeatable_across_processes": True, "kernel_error": error},
        "decisions": {}, "operators": copy.deepcopy(OPERATORS), "not_lowered": False,
        "facts": {"flops": 5e5, "bytes": 1e5, "meaning": "values"}, "evidence": evidence(case, shape, precision),
        "findings": [], "reproducer": f"ampgate validate --case {identity} --precision {precision} --seed 1",
    }  # fmt: skip
    if precision != "fp32":
        made["accuracy"]["precision_cost"] = {
            "output": "out", "max_abs_error": 1e-2, "position": [0, 1], "expected": 1.0, "actual": 1.01,
            "relative_rms_error": 10 ** rng.uniform(-5, -2), "mean_signed_error": 1e-5,
        }  # fmt: skip
    if measured:
        made["measurement"] = measurement(rng, precision)
    else:
        made["absent"] = {"measurement": "this run did not measure"}
    return made


def evidence(case: str, shape: str, precision: str) -> Json:
    return {
        "device": {"name": "cpu", "uuid": "u", "model": "m", "fields": {}}, "libtorch": {}, "build_id": "b",
        "settings": {}, "case": case, "shape": shape, "precision": precision, "seed": 1, "rules_sha256": ZEROS,
        "inputs": {}, "weights": {}, "outputs": {}, "operators": [],
    }  # fmt: skip


def failed(case: str, precision: str, verdict: str, reason: str) -> Json:
    made = trial(case, precision, random.Random(0), measured=False)
    absent = {"measurement": f"not measured: the verdict {verdict} does not open the gate", "operators": "not judged"}
    for key in ("accuracy", "operators", "facts", "evidence", "decisions"):
        del made[key]
    return made | {"verdict": verdict, "reason": reason, "absent": absent}


def deciding(case: str, precision: str, rng: random.Random) -> Json:
    made = trial(case, precision, rng)
    effects = ["unchanged", "explained", "tie-collapse"]
    table = [
        {"id": row, "input": "ordinary" if row < 4 else "boundary 0.01", "classes": [0, 1, 2],
         "baseline_scores": [1.0, 2.0, 0.5], "baseline_decision": 1, "trial_scores": [2.0, 1.9, "nan"],
         "trial_decision": row % 3, "margin": 0.01 * row, "effect": effects[row % 3]}
        for row in range(9)
    ]  # fmt: skip
    rungs = [{"margin": margin, "rows": 128, "rows_below_margin": 128, "flips": flips, "explained": flips, "defects": 0,
              "tie_collapses": 0, "lost": 0} for margin, flips in ((0.1, 1), (0.01, 20), (0.001, 60))]  # fmt: skip
    rungs.append({"margin": 1e-7, "rows": 10, "rows_below_margin": 10, "left_out": "below what the baseline resolves"})
    made["decisions"] = {
        "kind": "argmax", "output": "scores", "rows": 256, "tie_rule": "lowest-index", "compared_with": "FP32 baseline",
        "flips": 6, "explained": 3, "defects": 0, "tie_collapses": 3, "lost": 0,
        "accuracy": {"rows": 256, "oracle": 0.98, "baseline": 0.98, "trial": 0.97},
        "table": table, "table_left_out": 75,
        "boundary": {"rungs": rungs, "largest_flipped_margin": 0.09},
    }  # fmt: skip
    return made


def training(case: str, precision: str, rng: random.Random, steps: int = 40) -> Json:
    """The update of step 20 is skipped, and the scale falls there."""
    made = trial(case, precision, rng)
    scaler = "fp16" in precision
    scale = [65536.0 if step < 20 else 32768.0 for step in range(steps)] if scaler else [1.0] * steps
    stepped = [[not (scaler and step == 20)] for step in range(steps)]
    counts = {"applied": steps - scaler, "skipped": int(scaler), "longest_skip": int(scaler)}
    made["training"] = {
        "updates": steps, "scaler": scaler, **counts, "optimizers": [counts],
        "scale": {"first": scale[0], "lowest": min(scale), "last": scale[-1]},
        "shadow": [{"step": 0, "gradient_norm": 1.0, "gradient_error": 0.01, "zeroed_share": 0.0, "parameters": {}}],
        "steps": {"loss": [2.0 * 0.95**step for step in range(steps)], "scale": scale,
                  "growth_tracker": [0] * steps, "stepped": stepped, "learning_rate": [[0.1]] * steps,
                  "scaled_nonfinite": [0] * steps, "nonfinite": [0] * steps, "weights": ["w"] * steps, "gradients": {}},
        "scope": "A batch that passed proves no convergence",
    }  # fmt: skip
    return made


def moment(index: int) -> Json:
    return {"load": 1.0 + index, "memory_available_bytes": 2**34, "steal_ns": 10**9, "preemptions": index,
            "probe_ns": 9700 + index}  # fmt: skip


def record(
    *, name: str = "cpu", uuid: str = "cpu-0123456789", model: str = "A device", started: str = "2026-11-30T12:00:00Z",
    seed: int = 1, cases: int = 4,
) -> Json:  # fmt: skip
    """Operators in all precisions, one that fails, a model that decides, and a training."""
    rng = random.Random(seed)
    trials = [trial(f"operator_{index}", precision, rng) for index in range(cases) for precision in PRECISIONS]
    trials += [trial("bad_case", "fp32", rng), failed("bad_case", "cast-fp16", "nonfinite", "out[0] is inf")]
    trials += [deciding("classifier", precision, rng) for precision in ("fp32", "cast-fp16", "cast-bf16")]
    trials += [training("train_digits", precision, rng) for precision in ("fp32", "autocast-fp16", "autocast-bf16")]
    ceiling = {"value": 40.0, "interval": [38.0, 41.0], "samples": 6}
    product = {"value": 0.8, "interval": [0.7, 0.9], "samples": 6, "size": 512}
    identity = f"{started[:10].replace('-', '')}T{started[11:19].replace(':', '')}Z-{seed:08x}"
    rules = {**copy.deepcopy(RULES), "ampgate_rules": 1}
    return {
        "ampgate_record": 2, "digest": ZEROS, "id": identity,
        "run": {"id": identity, "command": "run", "command_line": "ampgate run", "started": started,
                "finished": started, "ampgate": "0.1.0", "times_resumed": 0,
                "phases": [{"name": "validate", "wall_time_ns": 10**9}],
                "plan_sha256": ZEROS},
        "plan": {"device": name, "suite": "standard", "seed": 1, "selection": {"cases": [], "precisions": []},
                 "settings": {"threads": 2, "affinity": [0, 1]}, "phases": ["validate", "bench"],
                 "schedule": {"processes": 3, "blocks_per_process": 7, "cell_time_ms": 15.0, "extra_modes": [],
                              "sustained_s": 30.0}},
        "environment": {"host": "h", "kernel": "k", "cpus": [0, 1],
                        "worker": {"folder": "w", "build_id": "b", "libtorch": "2.11.0"},
                        "variables": {"set": {}, "removed": {}}},
        "device": {"name": name, "uuid": uuid, "model": model, "fields": {}},
        "rules": rules, "rules_sha256": ZEROS,
        "bench": {"looks": 0, "processes": [
            {"process": index, "mode": "warm", "conditions": {"before": moment(index), "after": moment(index + 1)}}
            for index in range(3)]},
        "ceilings": {"last_level_cache_bytes": 0, "buffer_bytes": 1, "read_gbps": ceiling, "write_gbps": ceiling,
                     "copy_gbps": ceiling, "matmul_tflops": {"fp32": product, "bf16": product},
                     "peak": {"source": "the maker", "tflops": {"fp32": 2.0}}},
        "fingerprint": {"digest": ZEROS, "probes": [
            {"name": "products", "asks": "what an accumulator keeps", "raw": ["1"], "words": "24 bits"},
            {"name": "tf32", "asks": "what TF32 keeps", "absent": {"raw": "this device has none"}}]},
        "trials": trials, "answer": [f"FP16 may run on {model}.", "BF16 may run."],
    }  # fmt: skip


def sealed(made: Json) -> bytes:
    """With the SHA-256 of its own bytes, as the program writes it."""
    text = json.dumps(made | {"digest": ZEROS}, ensure_ascii=False, indent=1) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text.replace(ZEROS, digest, 1).encode()


def write(made: Json, path: Path) -> Path:
    path.write_bytes(sealed(made))
    return path
