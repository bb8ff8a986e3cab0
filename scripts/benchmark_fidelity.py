"""Our times beside those of torch.utils.benchmark. Started by scripts/benchmark.

Validates the operators, then alternates: a fresh bench process of ours, a fresh process of theirs, and so on, with the
same environment, threads, processors and malloc settings. Prints for each operator and precision the median of the
ratios of neighbouring rounds with its interval, and how long each tool must time until FP16:BF16 is known to 1 %.
Run it on an idle machine. ampgate must be built against the torch package of .venv, which is theirs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THEIRS = ROOT / "scripts" / "torch_times.py"
PRECISIONS = ["fp32", "cast-fp16", "cast-bf16"]
OPERATORS = [
    "matmul/256x256x256",
    "batched_matmul/8x128x128x64",
    "linear/64x1024x1024",
    "conv2d/2x32x32x28x28x3",
    "scaled_dot_product_attention/1x8x256x64",
    "layer_norm/2048x1024",
    "batch_norm/8x64x56x56",
    "softmax/2048x1024",
    "log_softmax/2048x1024",
    "gelu_tanh/2097152",
    "gelu_erf/2097152",
    "silu/2097152",
    "exp/2097152",
    "sum/2048x1024",
    "cumsum/2048x1024",
]
NEUTRALISED = ("OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_", "MALLOC_", "GLIBC_TUNABLES")

Times = dict[str, dict[str, dict[str, float]]]  # operator, precision -> median_ns, timed_s


def environment(threads: int) -> dict[str, str]:
    """What ampgate sets for its workers (driver/child_environment.cpp)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NEUTRALISED)}
    count = str(threads)
    fixed = {"OMP_DYNAMIC": "false", "GOMP_SPINCOUNT": "10000", "OMP_PROC_BIND": "true", "MKL_DYNAMIC": "false"}
    return {**kept, **fixed, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}


def ampgate(program: str, *arguments: str | Path) -> dict[str, Any]:
    """The record that ampgate prints. Ends this script with ampgate's own message when it fails."""
    command = [program, *map(str, arguments), "--device", "cpu", "--json", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 5):  # 5: a machine that others use too
        sys.exit(f"benchmark_fidelity: {' '.join(command)} exits {done.returncode}")
    return json.loads(done.stdout)


def ours(program: str, evidence: Path, rules: Path, archive: Path) -> tuple[Times, float, list[bool]]:
    """One bench process: times, the share of its wall time inside timed sections, which cells were disturbed."""
    record = ampgate(program, "bench", "--evidence", evidence, "--rules", rules, "--archive", archive)
    times: Times = {}
    disturbed = []
    for trial in record["trials"]:
        measured = trial["measurement"]
        disturbed += [len(row) > 5 and "disturbed" in row[5] for row in measured["samples"]]
        timed = sum(row[4] for row in measured["samples"]) * 1e-9
        times.setdefault(f"{trial['case']}/{trial['shape']['name']}", {})[trial["precision"]] = {
            "median_ns": measured["time_ns"]["median"],
            "timed_s": timed,
        }
    return times, record["bench"]["timed_share"], disturbed


def theirs(settings: dict[str, Any]) -> Times:
    done = subprocess.run(
        [sys.executable, THEIRS],
        input=json.dumps(settings),
        capture_output=True,
        text=True,
        check=False,
        env=environment(settings["threads"]),
    )
    if done.returncode != 0:
        sys.exit(f"benchmark_fidelity: torch.utils.benchmark exits {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def student_t(degrees: int) -> float:
    """Two-sided 95 % quantile: the expansion around the normal one (Abramowitz and Stegun 26.7.5)."""
    if degrees < 3:
        return {1: 12.706, 2: 4.303}[degrees]
    z = statistics.NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def interval(logs: list[float]) -> tuple[float, float, float]:
    """Median ratio, and Student's t interval over rounds on log scale."""
    half = student_t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    centre = statistics.mean(logs)
    return math.exp(statistics.median(logs)), math.exp(centre - half), math.exp(centre + half)


def seconds_to_one_percent(rounds: list[Times], operator: str) -> float:
    """Timed seconds until the 95 % interval of FP16:BF16 over processes is within 1 %: processes times seconds each.

    The same estimator for both tools: Student's t over the log ratios of processes.
    """
    pairs = [(one[operator]["cast-fp16"], one[operator]["cast-bf16"]) for one in rounds]
    spread = statistics.stdev(math.log(a["median_ns"] / b["median_ns"]) for a, b in pairs)
    processes = 2
    while student_t(processes - 1) * spread / math.sqrt(processes) > math.log(1.01):
        processes += 1
    return processes * statistics.mean(a["timed_s"] + b["timed_s"] for a, b in pairs)


def report(rounds: list[dict[str, Times]], operators: list[str]) -> None:
    print(f"{'operator':42} {'precision':10} {'ours ms':>9} {'theirs ms':>9} {'ratio':>6}  95 % interval", flush=True)
    all_logs, efficiency = [], []
    for operator in operators:
        for precision in PRECISIONS:
            medians = {
                tool: [one[tool][operator][precision]["median_ns"] for one in rounds] for tool in ("ours", "theirs")
            }
            logs = [math.log(a / b) for a, b in zip(medians["ours"], medians["theirs"], strict=True)]
            ratio, low, high = interval(logs)
            all_logs.append(math.log(ratio))
            mine, other = (statistics.median(medians[tool]) / 1e6 for tool in ("ours", "theirs"))
            print(f"{operator:42} {precision:10} {mine:9.4f} {other:9.4f} {ratio:6.3f}  {low:.3f} to {high:.3f}")
        needed = [seconds_to_one_percent([one[tool] for one in rounds], operator) for tool in ("ours", "theirs")]
        efficiency.append(needed[0] / needed[1])
        print(f"{'':42} FP16:BF16 to 1 %: {needed[0]:.1f} s timed, theirs {needed[1]:.1f} s: {efficiency[-1]:.2f}")
    inside = sum(abs(math.expm1(value)) <= 0.01 for value in all_logs)
    print(f"geometric mean of {len(all_logs)} ratios {math.exp(statistics.mean(all_logs)):.4f}")
    print(f"{inside} of {len(all_logs)} within 0.99 to 1.01; largest distance {max(map(abs, all_logs)):.3f} (log)")
    print(f"timed seconds to 1 % of FP16:BF16, ours / theirs: median {statistics.median(efficiency):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=8, help="at least 3")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--operators", default=",".join(OPERATORS), help="case/shape, separated by commas")
    parser.add_argument("--json", type=Path, help="also write all medians there")
    options = parser.parse_args()
    operators = options.operators.split(",")
    if options.rounds < 3:
        parser.error("--rounds must be at least 3: fewer give no interval")

    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive"
        # One process a round: rounds alternate with theirs, and their spread is what counts.
        rules = Path(folder) / "rules.json"
        rules.write_text(json.dumps({"measurement": {"processes": 1, "min_blocks": 7}}))
        selected = [argument for operator in operators for argument in ("--case", operator)]
        selected += ["--suite", "standard", "--precision", ",".join(PRECISIONS), "--threads", str(options.threads)]
        record = ampgate(options.program, "validate", *selected, "--rules", rules, "--archive", archive)
        (evidence,) = archive.glob("*/*.json")
        used = record["plan"]["settings"]
        kept = ("threads", "affinity", "mmap_threshold_bytes", "trim_threshold_bytes")
        settings = {**{name: used[name] for name in kept}, "operators": operators, "seconds": 0.1}
        rounds: list[dict[str, Times]] = []
        shares = []
        disturbed: list[bool] = []
        for number in range(options.rounds):
            times, share, cells = ours(options.program, evidence, rules, archive / "bench")
            shares.append(share)
            disturbed += cells
            rounds.append({"ours": times, "theirs": theirs(settings)})
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    print(f"threads: {options.threads}, rounds: {options.rounds}; ratio is ours / theirs")
    report(rounds, operators)
    if sum(disturbed) > 0.05 * len(disturbed):
        print(
            f"other work disturbed {sum(disturbed)} of {len(disturbed)} of our cells, and theirs unseen: "
            "these ratios say little"
        )
    print(f"share of a process's wall time inside timed iterations: median {statistics.median(shares):.2f}")
    if options.json:
        options.json.write_text(json.dumps(rounds, indent=1))


if __name__ == "__main__":
    main()
