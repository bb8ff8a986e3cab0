#!/usr/bin/env python3
"""Both workers without LibTorch: speaks docs/protocol.md and misbehaves on request.

FAKE_BLOCK_S is how long a block takes, FAKE_DISTURBED why the ceilings say too little.
FAKE_ARITHMETIC is what a probe finds.
FAKE_GROWTH maps precisions to exponents: times grow with m (from 4) so, and a call's memory is its output.
FAKE_WORKER is a JSON list of {"phase", "id", "do"}: when a trial of that id (fnmatch) starts in that phase, `do` one of
segv, abort, exit0, exit1, hang, long-N (N times 0.4 s, coming further), skip, give-up-N (say FAKE_ERROR and exit with
N), or a verdict's word. "garbage", "unknown-trial", "die-at-once" act after `hello`. In phase bench also "too-fast"
(beyond any peak), "disturb-N" (another process disturbs the first N blocks) and "noisy" (processes differ by tens of
percent).
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD_ID = os.environ.get("FAKE_BUILD_ID", "b" * 64)
BLOCK_S = float(os.environ.get("FAKE_BLOCK_S", "0"))
REQUESTS = json.loads(os.environ.get("FAKE_WORKER", "[]"))
DEVICE = {"name": "cpu", "uuid": "fake-uuid", "model": "Fake CPU", "fields": {"isa": "none"}}
PRECISIONS = ["fp32", "tf32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"]
MODES = {"warm": 1.0, "cold": 4.0, "latency": 1.1, "sustained": 1.5, "default-malloc": 2.0}
TIMES = {"fp32": 1000.0, "autocast-fp16": 500.0, "autocast-bf16": 800.0, "cast-fp16": 400.0, "cast-bf16": 900.0}


def send(name: str, **fields: Any) -> None:  # noqa: ANN401
    os.write(3, (json.dumps({"event": name, **fields}) + "\n").encode())


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def requested(phase: str, trial: str) -> str:
    for request in REQUESTS:
        if request["phase"] == phase and fnmatch.fnmatch(trial, request["id"]):
            return request["do"]
    return ""


def misbehave(what: str, trial: str = "") -> None:
    if what == "segv":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "abort":
        os.abort()
    if what == "exit0":
        os._exit(0)
    if what == "exit1":
        os._exit(1)
    if what.startswith("give-up-"):
        name = Path(sys.argv[0]).name
        error = os.environ.get("FAKE_ERROR", "no data in /nope")
        print(f"chatter\n{name}: {error}\n  look for it there", file=sys.stderr, flush=True)
        os._exit(int(what.removeprefix("give-up-")))
    if what.startswith("long-"):
        for _ in range(int(what.removeprefix("long-"))):
            time.sleep(0.4)
            send("trial_started", id=trial)
    if what == "hang":
        while True:
            send("heartbeat")
            time.sleep(0.2)


def evidence(plan: dict, trial: dict) -> dict:
    shape = "x".join(map(str, trial["shape"]))
    return {
        "device": DEVICE,
        "libtorch": {"version": "fake"},
        "build_id": BUILD_ID,
        "settings": {"threads": "1"},
        "case": trial["case"],
        "shape": shape,
        "precision": trial["precision"],
        "seed": plan["seed"],
        "rules_sha256": plan["rules_sha256"],
        "inputs": {"a": digest(plan["seed"], trial["case"], shape)},
        "weights": {},
        "outputs": {"out": digest(plan["seed"], trial["id"])},
        "operators": [],
        "checks": [{"output": "out", "positions": [0], "low": [1.0], "high": [1.1]}],
    }


def validate(plan: dict) -> None:
    invalid: dict[tuple, str] = {}
    for trial in plan["trials"]:
        if "verdict" in trial:
            continue
        send("trial_started", id=trial["id"])
        group = (trial["case"], tuple(trial["shape"]))
        what = "baseline-invalid" if group in invalid else requested("validate", trial["id"])
        reason = f"made {invalid.get(group, what)} on request"
        if trial["precision"] == "fp32" and what == "inaccurate":
            invalid[group] = what
        misbehave(what, trial["id"])
        time.sleep(float(os.environ.get("FAKE_DELAY_S", "0")))
        if what == "skip":
            continue
        what = "" if what.startswith("long-") else what
        shape = "x".join(map(str, trial["shape"]))
        dims = dict(zip("mnk", trial["shape"], strict=False))
        bad = what or ("unsupported" if trial["precision"] == "tf32" else "pass")
        send(
            "trial_finished",
            id=trial["id"],
            case=trial["case"],
            shape={"name": shape, "dims": dims},
            precision=trial["precision"],
            verdict=bad,
            reason="" if bad == "pass" else reason,
            accuracy={
                "kernel_error": {"criterion": "fake", "output": "out", "elements": 20, "margin": 0.25},
                "repeatable_in_process": True,
            },
            decisions={},
            findings=[{"input": "large", "shape": "4x4", "verdict": "nonfinite", "text": "overflow"}]
            if trial["precision"].endswith("fp16")
            else [],
            operators=[],
            facts={"flops": 2.0e6, "bytes": 1000.0, "meaning": "values"},
            evidence=evidence(plan, trial),
        )


def repeat(plan: dict) -> None:
    for trial in plan["trials"]:
        send("trial_started", id=trial["id"])
        what = requested("repeat", trial["id"])
        misbehave(what)
        other = what in ("differ", "stray")
        value = digest(plan["seed"], trial["id"], plan["process"] if other else "")
        answer = {"outputs": {"out": value if other else digest(plan["seed"], trial["id"])}}
        if "evidence" in trial:
            outside = 2 if what == "stray" else 0
            answer["spread"] = {"positions": 20, "differing": 5, "outside": outside, "max_abs_difference": 0.5}
            if outside:
                answer["spread"]["place"] = "out[3] is 7, allowed from 1 to 2"
        send("trial_finished", id=trial["id"], **answer)


def sample(plan: dict, trial: dict, block: int, order: int) -> dict:
    settings = plan["bench"]
    what = requested("bench", trial["id"])
    jitter = 1 + 0.01 * ((settings["order_seed"] + 7 * block + 3 * order) % 11) / 11
    if what == "noisy":
        jitter *= 1 + 0.05 * (settings["order_seed"] % 7)
    growth = json.loads(os.environ.get("FAKE_GROWTH", "{}")).get(trial["precision"], 0.0)
    each = TIMES[trial["precision"]] * (trial["shape"][0] / 4) ** growth * MODES[settings["mode"]] * jitter
    if what == "too-fast":
        each = 1.0
    row = {"id": trial["id"], "process": plan["process"], "block": block, "order": order, "calls": 10, "page_faults": 0}
    if settings["mode"] in ("cold", "latency"):
        row["call_times_ns"] = [round(each + n) for n in range(10)]
    if settings["mode"] == "sustained":
        row["device"] = {"clock_mhz": 2000.0 - block, "power_w": 300.0}
    if what.startswith("disturb-") and block < int(what.removeprefix("disturb-")):
        row["disturbed"] = "another process kept a CPU for 20 % of the time"
        each *= 3
    return {**row, "time_ns": max(1, round(10 * each))}


def ceilings() -> dict:
    passes = {"bytes": 1000, "times_ns": [100] * 9}
    disturbed = {"disturbed": os.environ["FAKE_DISTURBED"]} if "FAKE_DISTURBED" in os.environ else {}
    products = {"size": 100, "flops": 2e6, "times_ns": [500] * 9, **disturbed}
    return {
        "memory": {
            "last_level_cache_bytes": 400,
            "buffer_bytes": 1000,
            **dict.fromkeys(("read", "write", "copy"), passes),
            **disturbed,
        },
        "matmul": {"fp32": products, "fp16": products, "bf16": products, "tf32": {"absent": "no such format"}},
        "peaks": {"flops_per_s": dict.fromkeys(("fp32", "fp16", "bf16"), 1e14), "source": "invented"},
    }


def fingerprint() -> dict:
    words = os.environ.get("FAKE_ARITHMETIC", "rounded to nearest")
    probe = {"name": "accumulator-fp16", "asks": "2^20 + 3/32 - 2^20", "raw": {"values": [words]}, "words": words}
    absent = {"name": "product-tf32", "asks": "TF32?", "absent": {"raw": "no such format"}}
    return {"digest": hashlib.sha256(words.encode()).hexdigest(), "probes": [probe, absent]}


def bench(plan: dict) -> None:
    settings = plan["bench"]
    malloc = settings["mode"] != "default-malloc"
    assert ("mmap_threshold_bytes" in plan["settings"]) is malloc
    groups: dict[tuple, list] = {}
    for trial in plan["trials"]:
        assert trial["verdict"] in ("pass", "suspect") and trial["evidence"]["outputs"]
        groups.setdefault((trial["case"], tuple(trial["shape"])), []).append(trial)
    for trials in groups.values():
        assert trials[0]["precision"] == "fp32"
        refused = {t["id"] for t in trials if t["evidence"]["device"]["uuid"] != DEVICE["uuid"]}
        for trial in (t for t in trials if t["id"] in refused):
            send("trial_finished", id=trial["id"], verdict="refused", reason="/device/uuid: another device")
        extra = [requested("bench", t["id"]).removeprefix("disturb-") for t in trials]
        again = min(settings["blocks"], max((int(n) for n in extra if n.isdigit()), default=0))
        begin = time.monotonic()
        blocks = 20 if settings["mode"] == "sustained" else settings["blocks"] + again
        for block in range(blocks):
            if block > 0 and time.monotonic() - begin + BLOCK_S > settings.get("group_time_ns", 1e18) * 1e-9:
                break
            time.sleep(BLOCK_S)
            for order, trial in enumerate(trials):
                if trial["id"] in refused:
                    continue
                send("trial_started", id=trial["id"])
                misbehave(requested("bench", trial["id"]) if block == 1 else "")
                send("sample", **sample(plan, trial, block, order))
            send("heartbeat")
        for trial in trials:
            what = requested("bench", trial["id"])
            verdict = "output-changed" if what == "output-changed" else "measured"
            if trial["id"] not in refused:
                send(
                    "trial_finished",
                    id=trial["id"],
                    verdict=verdict,
                    reason="" if verdict == "measured" else "it changed",
                    calls_per_cell=10,
                    output_check="digest" if trial["evidence"]["repeatable"] else "bounds",
                    **({"energy_j": 30.0, "energy_calls": 1000} if settings["mode"] == "sustained" else {}),
                )


def inspect(plan: dict) -> None:
    for trial in plan["trials"]:
        send("trial_started", id=trial["id"])
        what = requested("inspect", trial["id"])
        misbehave(what)
        refused = what == "refused"
        send(
            "trial_finished",
            id=trial["id"],
            verdict="refused" if refused else "measured",
            reason="it reads a value" if refused else "",
            memory={
                "peak_bytes": 4 * trial["shape"][0] * trial["shape"][1] if "FAKE_GROWTH" in os.environ else 123456,
                "allocations": 2,
                "retained_bytes": 0,
                "resident_growth_bytes": 0,
            },
            audit={
                "operators": [],
                "calls": 1,
                "dispatches": 2,
                "problems": ["it reads a value"] if refused else [],
            },
        )


def fault(kind: str, expectation: str, outcome: str) -> dict:
    return {
        "kind": kind,
        "operator": "matmul",
        "type": "float32",
        "expectation": expectation,
        "reason": "" if expectation == "must-catch" else "nobody asked for it",
        "outcome": outcome,
        "caught_by": [{"input": "ordinary", "verdict": "inaccurate"}] if outcome == "caught" else [],
        "why": "",
        "peers": {"torch_testing": True, "one_percent": False, "k_over_100": False},
    }


def selftest(plan: dict) -> None:
    for trial in plan["trials"]:
        send("trial_started", id=trial["id"])
        what = requested("selftest", trial["id"])
        misbehave(what)
        alarm = {"seed": 7, "verdict": "inaccurate", "reason": "too strict"}
        answer = {
            "faults": [
                fault("flip-mantissa-1", "must-catch", "missed" if what == "miss" else "caught"),
                fault("flip-mantissa-23", "may-miss", "broken" if what == "broken" else "missed"),
                fault("bias-ignored", "must-catch", "not-put-in"),
            ],
            "clean": {
                "trials": plan["selftest"]["clean_seeds"],
                "false_alarms": 1 if what == "alarm" else 0,
                "suspects": 0,
                "examples": [alarm] if what == "alarm" else [],
            },
        }
        shape = "x".join(map(str, trial["shape"]))
        bad = {"verdict": "nonfinite", "reason": "NaN in a right result"}
        send(
            "trial_finished",
            id=trial["id"],
            case=trial["case"],
            shape=shape,
            precision=trial["precision"],
            **(bad if what == "refuse" else {"verdict": "pass", "reason": "", **answer}),
        )


def manifest() -> dict:
    cases = [
        {
            "name": name,
            "model": False,
            "dims": ["m", "n", "k"],
            "shape_prefix": "",
            "outputs": ["out"],
            "unsupported": {},
            "suites": {"smoke": [[4, 5, 6]], "standard": [[8, 8, 8], [9, 9, 9]]},
        }
        for name in ("bmm", "matmul")
    ]
    return {
        "ampgate_manifest": 1,
        "build_id": "b" * 64,
        "libtorch": "fake",
        "cases": cases,
        "precisions": PRECISIONS,
        "suites": ["smoke", "standard", "large"],
    }


def facts(asked: list[dict]) -> list[dict]:
    answer = []
    for entry in asked:
        m, n, k = entry["shape"]
        needs = {
            "tensor_bytes": 4.0 * (m * k + k * n),
            "output_bytes": 4.0 * m * n,
            "bytes": 4.0 * (m * k + k * n + m * n),
        }
        good = {"flops": 2.0 * m * n * k, "precisions": dict.fromkeys(PRECISIONS, needs)}
        bad = {"problem": f"case {entry['case']}: k must not be 13"}
        answer.append({"case": entry["case"], **(bad if k == 13 else good)})
    return answer


def main() -> None:
    if sys.argv[1:] == ["manifest"]:
        print(json.dumps(manifest()))
        return
    if sys.argv[1:] == ["devices"]:
        usable = {**DEVICE, "usable": True}
        print(json.dumps([usable, {"name": "cuda", "usable": False, "problem": "no CUDA module in this build"}]))
        return
    if sys.argv[1:] == ["facts"]:
        print(json.dumps(facts(json.load(sys.stdin)["shapes"])))
        return
    print("chatter on standard output")
    plan = json.load(sys.stdin)
    if requested(plan["phase"], "die-at-once"):
        os._exit(7)
    send("hello", worker="fake", build_id=BUILD_ID, pid=os.getpid())
    send(
        "environment",
        device=DEVICE,
        libtorch={"version": "fake"},
        settings={"threads": "1"},
        build={"build_id": BUILD_ID, "flags": "none"},
    )
    if requested(plan["phase"], "garbage"):
        os.write(3, b"{not json\n")
    if requested(plan["phase"], "unknown-trial"):
        send("trial_started", id="no/such/trial")
    if seen := os.environ.get("FAKE_ENVIRONMENT_TO"):
        Path(seen).write_text(json.dumps(dict(os.environ)))
    phases = {"validate": validate, "repeat": repeat, "bench": bench, "inspect": inspect, "selftest": selftest}
    about_device = {"ceilings": ceilings, "fingerprint": fingerprint}
    if answer := about_device.get(plan["phase"]):
        send("done", **{plan["phase"]: answer()})
        return
    phases[plan["phase"]](plan)
    moment = {"load": 0.5, "memory_available_bytes": 1, "steal_ns": 0, "preemptions": 0, "probe_ns": 10}
    totals = {"timed_ns": 80, "wall_ns": 100, "clock_ns": 20, "conditions": {"before": moment, "after": moment}}
    send("done", **(totals if plan["phase"] == "bench" else {}))


main()
