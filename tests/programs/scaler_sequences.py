"""Random sequences for a gradient scaler, as `ampgate-validate scaler-trace` reads them."""

from __future__ import annotations

import math
import random
from typing import Any

# Significant bits, and the least and the largest exponent of a normal number.
FORMATS = {
    "float32": (24, -126, 127),
    "bfloat16": (8, -126, 127),
    "float16": (11, -14, 15),
    "float64": (53, -1022, 1023),
}
SHAPES = [[2], [3], [2, 3], [], [1], [4], [0]]
SPECIAL = ["inf", "-inf", "nan"]
SCALES = [65536, 1, 2.0**15, 1024, 3, 0.1, -5, 0, -0.0, 1e-3, 2.0**-126, 2.0**-128, 2.0**-149, 1e-60, 2.0**127, 3e38]
BEYOND_FLOAT32 = 1e39


def written(rng: random.Random, value: float | str) -> float | str:
    """One of the ways in which a file may hold this number."""
    value = float(value)
    if not math.isfinite(value):
        return repr(value)
    return rng.choice([value, repr(value), value.hex()])


def finite_value(rng: random.Random, dtype: str) -> float:
    bits, lowest, highest = FORMATS[dtype]
    kind = rng.random()
    if kind < 0.55:
        return rng.gauss(0, 1) * 2.0 ** rng.randint(-10, 10)
    if kind < 0.65:
        return rng.choice([0.0, -0.0])
    if kind < 0.8:  # subnormal, or rounded to zero
        return rng.choice([-1, 1]) * rng.random() * 2.0 ** (lowest - rng.randint(0, bits))
    if kind < 0.9:  # just representable
        return rng.choice([-1, 1]) * (2 - 2.0 ** (1 - bits)) * 2.0**highest
    return rng.choice([-1, 1]) * rng.random() * 2.0 ** rng.uniform(lowest, highest)


def any_scale(rng: random.Random) -> float | str:
    return written(rng, rng.choice([*SCALES, *SPECIAL, BEYOND_FLOAT32]))


def gradient(rng: random.Random, parameter: dict[str, Any], finite: bool) -> dict[str, Any] | None:
    if rng.random() < 0.12:
        return None
    made: dict[str, Any] = {}
    dtype = parameter["dtype"]
    if rng.random() < 0.1:
        dtype = made["dtype"] = rng.choice(list(FORMATS))
    shape = list(parameter["shape"])
    if shape and shape[0] > 0 and rng.random() < 0.25:
        made["indices"] = [rng.randrange(shape[0]) for _ in range(rng.randint(0, 4))]
        shape[0] = len(made["indices"])
    values: list[float | str] = [finite_value(rng, dtype) for _ in range(math.prod(shape))]
    if values and not finite:
        values[rng.randrange(len(values))] = rng.choice(SPECIAL)
    made["values"] = [written(rng, value) for value in values]
    return made


def state(rng: random.Random) -> dict[str, Any]:
    full = {
        "scale": any_scale(rng),
        "growth_factor": rng.choice([2, 0.5, 1.5]),
        "backoff_factor": rng.choice([0.5, 2]),
        "growth_interval": rng.randint(0, 3),
        "_growth_tracker": rng.choice([0, 1, 2, 2**31 - 1, 2**31, -1]),
    }
    kind = rng.random()
    if kind < 0.3:
        return {}
    if kind < 0.7:
        del full[rng.choice(list(full))]
    return full


def new_scale(rng: random.Random) -> Any:  # noqa: ANN401
    kind = rng.random()
    if kind < 0.5:
        return any_scale(rng)
    if kind < 0.6:
        return {"int": rng.randint(-2, 1024)}
    shape = rng.choice([[], [], [1], [2], [1, 1], [0]])
    tensor: dict[str, Any] = {"shape": shape, "dtype": rng.choice(list(FORMATS))}
    tensor["values"] = [any_scale(rng) for _ in range(math.prod(shape))]
    if rng.random() < 0.25:
        tensor["requires_grad"] = True
    return {"tensor": tensor}


def setting(rng: random.Random) -> list[Any]:
    return rng.choice(
        [
            ["set_growth_interval", rng.randint(0, 5)],
            ["set_growth_factor", rng.choice([1.5, 3, "0x1.8p+1"])],
            ["set_backoff_factor", rng.choice([0.25, "0.3"])],
        ]
    )


def gradients(rng: random.Random, parameters: list[list[dict[str, Any]]], finite: bool) -> list[Any]:
    """Where they need not be finite, most of them are all the same."""
    return ["gradients", [[gradient(rng, p, finite or rng.random() < 0.6) for p in owned] for owned in parameters]]


def training_step(rng: random.Random, parameters: list[list[dict[str, Any]]]) -> list[list[Any]]:
    """One step as it should be, but for an optimizer that is left out now and then."""
    ops = [["scale"], gradients(rng, parameters, finite=rng.random() < 0.75)]
    for number in rng.sample(range(len(parameters)), len(parameters)):
        if rng.random() < 0.4:
            ops.append(["unscale", number])
        if rng.random() < 0.95:
            ops.append(["step", number])
    ops.append(["update"] if rng.random() < 0.3 else ["update", None])
    return ops


def anything(rng: random.Random, parameters: list[list[dict[str, Any]]], saved: bool) -> list[Any]:
    """An operation that need not belong here."""
    number = rng.randrange(len(parameters))
    often = ["unscale", "step", "update"]
    match rng.choice(["scale", "gradients", "closure", "new scale", "setting", "save", "load", *often, *often]):
        case "gradients":
            return gradients(rng, parameters, finite=rng.random() < 0.4)
        case "unscale" | "step" as name:
            return [name, number]
        case "closure":
            return ["step", number, "closure"]
        case "new scale":
            return ["update", new_scale(rng)]
        case "setting":
            return setting(rng)
        case "load":
            return ["load"] if saved and rng.random() < 0.7 else ["load", state(rng)]
        case name:
            return [name]


def random_parameters(rng: random.Random) -> list[list[dict[str, Any]]]:
    # With FP16 among them half the optimizers could never step.
    dtypes = rng.choice([["float32", "bfloat16"], ["float32", "bfloat16"], ["float32", "bfloat16", "float16"]])

    def parameter() -> dict[str, Any]:
        return {"shape": rng.choice(SHAPES), "dtype": rng.choice(dtypes)}

    return [[parameter() for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 3))]


def random_sequence(seed: int, length: int = 24) -> dict[str, Any]:
    rng = random.Random(seed)
    parameters = random_parameters(rng)
    scaler = {
        "init_scale": any_scale(rng) if rng.random() < 0.4 else 65536,
        "growth_factor": written(rng, rng.choice([2, 2, 1.1, 3, 1e30, 1 + 2.0**-40, "nan", "inf"])),
        "backoff_factor": written(rng, rng.choice([0.5, 0.5, 0.9, 0.1, 0, -1, 1e-30, "nan", "-inf"])),
        "growth_interval": rng.choice([1, 2, 3, 4, 5]),
        "enabled": rng.random() > 0.1,
    }
    orderly = rng.choice([0.0, 0.4, 0.9])
    ops: list[list[Any]] = []
    while len(ops) < length:
        if rng.random() < orderly:
            ops += training_step(rng, parameters)
        else:
            ops.append(anything(rng, parameters, saved=["save"] in ops))
    return {"scaler": scaler, "parameters": parameters, "ops": ops}
