"""Times the comparator beside the memory that it reads, and beside torch.testing.assert_close on the same tensors.

All are timed in alternation, so that what else the machine does hits them alike. Started by scripts/benchmark.
"""

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable

import torch

TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


def seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def assert_close_times(name: str, elements: int) -> Callable[[], tuple[float, float]]:
    """Of an output and its FP64 oracle, which is what the comparator gets, and of two tensors of the output's type."""
    oracle = torch.randn(elements // 4096, 4096, dtype=torch.float64)
    out = oracle.to(TYPES[name])
    rounded = out.clone()

    def times() -> tuple[float, float]:
        with_oracle = seconds(
            lambda: torch.testing.assert_close(out, oracle, rtol=1e-2, atol=1e-2, check_dtype=False, equal_nan=True)
        )
        return with_oracle, seconds(lambda: torch.testing.assert_close(out, rounded, equal_nan=True))

    return times


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def rounds_of(program: subprocess.Popen[str], name: str, arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Ratios, one a round."""
    assert program.stdin is not None
    assert program.stdout is not None
    assert_close = assert_close_times(name, arguments.elements)
    ratios: dict[str, list[float]] = {"compare": [], "cost": [], "compare_gb_s": [], "read_gb_s": []}
    ratios |= {"assert_close": [], "assert_close_own_type": []}
    for round_number in range(arguments.rounds + 1):
        program.stdin.write(name + "\n")
        program.stdin.flush()
        line = json.loads(program.stdout.readline())
        with_oracle, own_type = assert_close()
        if round_number == 0:
            continue  # pages and caches
        for part in ("compare", "cost"):
            ratios[part].append(line[part]["read_time_s"][0] / line[part]["time_s"][0])
        compare = line["compare"]
        ratios["compare_gb_s"].append(compare["bytes"] / compare["time_s"][0] / 1e9)
        ratios["read_gb_s"].append(compare["bytes"] / compare["read_time_s"][0] / 1e9)
        ratios["assert_close"].append(with_oracle / compare["time_s"][0])
        ratios["assert_close_own_type"].append(own_type / compare["time_s"][0])
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--elements", type=int, default=64 << 20)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    threads = torch.get_num_threads()
    print(f"{arguments.elements} elements, {threads} threads; median (range) of {arguments.rounds} rounds")
    with subprocess.Popen(
        [arguments.program, str(arguments.elements)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        for name in TYPES:
            ratios = rounds_of(program, name, arguments)
            print(
                f"{name:9}"
                f"  compare {spread(ratios['compare_gb_s'], 1)} GB/s, read {spread(ratios['read_gb_s'], 1)} GB/s\n"
                f"{'':9}  compare / read bandwidth {spread(ratios['compare'])}, cost / read {spread(ratios['cost'])}\n"
                f"{'':9}  assert_close takes {spread(ratios['assert_close'], 1)} times as long, "
                f"with both in {name} {spread(ratios['assert_close_own_type'], 1)}",
                flush=True,
            )
        assert program.stdin is not None
        program.stdin.close()


if __name__ == "__main__":
    main()
