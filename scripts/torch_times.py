"""The operators of benchmark_fidelity.py under torch.utils.benchmark: one process, one sample of each.

Reads {"threads", "affinity", "mmap_threshold_bytes", "trim_threshold_bytes", "operators", "seconds"} on standard
input, prints by operator and precision {"median_ns", "timed_s"}. Inputs have the shapes and types that ampgate's cases
have; values are random as well.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import TYPE_CHECKING

import torch
from torch.nn import functional
from torch.utils.benchmark import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

PRECISIONS = {"fp32": torch.float32, "cast-fp16": torch.float16, "cast-bf16": torch.bfloat16}
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
PR_SET_THP_DISABLE = 41


def uniform(*shape: int) -> torch.Tensor:
    return torch.rand(*shape) + 0.5


def build(name: str, s: list[int]) -> tuple[list[torch.Tensor], Callable]:
    """Tensors in FP32, and what is timed."""
    match name:
        case "matmul":
            return [torch.randn(s[0], s[2]), torch.randn(s[2], s[1])], torch.matmul
        case "batched_matmul":
            return [torch.randn(s[0], s[1], s[3]), torch.randn(s[0], s[3], s[2])], torch.bmm
        case "linear":
            return [torch.randn(s[0], s[1]), torch.randn(s[2], s[1]), torch.randn(s[2])], functional.linear
        case "conv2d":
            tensors = [torch.randn(s[0], s[1], s[3], s[4]), torch.randn(s[2], s[1], s[5], s[5]), torch.randn(s[2])]
            return tensors, lambda x, w, b: functional.conv2d(x, w, b, padding=s[5] // 2)
        case "scaled_dot_product_attention":
            return [torch.randn(s) for _ in range(3)], functional.scaled_dot_product_attention
        case "layer_norm":
            return [torch.randn(s), uniform(s[1]), uniform(s[1])], lambda x, w, b: torch.layer_norm(x, w.shape, w, b)
        case "batch_norm":
            tensors = [torch.randn(s), *(uniform(s[1]) for _ in range(4))]
            return tensors, lambda x, m, v, w, b: functional.batch_norm(x, m, v, w, b)
        case "softmax":
            return [torch.randn(s)], lambda x: torch.softmax(x, 1)
        case "log_softmax":
            return [torch.randn(s)], lambda x: torch.log_softmax(x, 1)
        case "gelu_tanh":
            return [torch.randn(s)], lambda x: functional.gelu(x, approximate="tanh")
        case "gelu_erf":
            return [torch.randn(s)], functional.gelu
        case "silu":
            return [torch.randn(s)], functional.silu
        case "exp":
            return [torch.randn(s)], torch.exp
        case "sum":
            return [torch.randn(s)], lambda x: torch.sum(x, 1)
        case "cumsum":
            return [torch.randn(s)], lambda x: torch.cumsum(x, 1)
    raise ValueError(name)


def main() -> None:
    settings = json.load(sys.stdin)
    libc = ctypes.CDLL(None)
    assert libc.mallopt(M_MMAP_THRESHOLD, settings["mmap_threshold_bytes"]) == 1
    assert libc.mallopt(M_TRIM_THRESHOLD, settings["trim_threshold_bytes"]) == 1
    assert libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0
    os.sched_setaffinity(0, settings["affinity"])
    torch.set_num_threads(settings["threads"])
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    result: dict[str, dict[str, dict[str, float]]] = {}
    for operator in settings["operators"]:
        name, shape = operator.split("/")
        tensors, run = build(name, [int(size) for size in shape.split("x")])
        result[operator] = {}
        for precision, dtype in PRECISIONS.items():
            variables = {"run": run, "tensors": [tensor.to(dtype) for tensor in tensors]}
            timer = Timer("run(*tensors)", globals=variables, num_threads=settings["threads"])
            measured = timer.blocked_autorange(min_run_time=settings["seconds"])
            result[operator][precision] = {"median_ns": measured.median * 1e9, "timed_s": sum(measured.raw_times)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
