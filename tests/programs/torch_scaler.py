"""What torch.amp.GradScaler does with a sequence that `ampgate-validate scaler-trace` reads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

DTYPES = {name: getattr(torch, name) for name in ("float32", "bfloat16", "float16", "float64")}
STAGES = ["not initialised", "READY", "UNSCALED", "STEPPED"]
FLOATS = ("scale", "growth_factor", "backoff_factor")  # in a state


def number(value: float | int | str) -> float:
    if isinstance(value, str) and "x" in value:
        return float.fromhex(value)
    return float(value)


def tensor(description: dict[str, Any], shape: list[int], dtype: str) -> torch.Tensor:
    values = [number(value) for value in description["values"]]
    dtype = description.get("dtype", dtype)
    rows = description.get("indices")
    if rows is None:
        return torch.tensor(values, dtype=DTYPES[dtype]).reshape(shape)
    held = torch.tensor(values, dtype=DTYPES[dtype]).reshape([len(rows), *shape[1:]])
    with torch.sparse.check_sparse_tensor_invariants():
        return torch.sparse_coo_tensor(torch.tensor([rows], dtype=torch.int64), held, shape)


def gradient_entry(held: torch.Tensor | None) -> dict[str, Any] | None:
    if held is None:
        return None
    values = held._values() if held.is_sparse else held
    entry: dict[str, Any] = {
        "values": [value.hex() for value in values.double().flatten().tolist()],
        "dtype": str(held.dtype).removeprefix("torch."),
    }
    if held.is_sparse:
        entry["indices"] = held._indices()[0].tolist()
    return entry


def kinds(held: torch.Tensor | None) -> set[str]:
    """What is special about a gradient."""
    if held is None:
        return {"missing"}
    values = held._values() if held.is_sparse else held
    dtype = str(held.dtype).removeprefix("torch.")
    names = {f"{'sparse' if held.is_sparse else 'dense'} {dtype}"}
    if held.is_sparse and held._indices().unique().numel() < held._nnz():
        names.add("duplicates")
    names |= {str(value) for value in values.flatten().tolist() if value - value != 0}
    if ((values != 0) & (values.abs() < torch.finfo(values.dtype).smallest_normal)).any():
        names.add(f"subnormal {dtype}")
    return names


def form(op: list[Any]) -> str:
    """The operation's name, and of those with several forms the form's."""
    match op:
        case ["step", _, "closure"]:
            return "closure"
        case ["update", {"int": _}]:
            return "int"
        case ["update", {"tensor": _}]:
            return "tensor"
        case ["update", float() | int() | str()]:
            return "number"
        case _:
            return op[0]


class Player:
    """Plays a sequence through PyTorch. `reached` counts what was called in which stage, and what came of it."""

    def __init__(self, sequence: dict[str, Any]) -> None:
        self.sequence = sequence
        options = sequence["scaler"]
        self.scaler = torch.amp.GradScaler(
            "cpu",
            init_scale=number(options["init_scale"]),
            growth_factor=number(options["growth_factor"]),
            backoff_factor=number(options["backoff_factor"]),
            growth_interval=options["growth_interval"],
            enabled=options["enabled"],
        )
        self.optimizers = []
        self.stepped = False
        self.asked_to_scale = False
        self.saved: dict[str, Any] = {}
        self.reached: Counter[str] = Counter()
        for owned in sequence["parameters"]:
            made = [torch.zeros(p["shape"], dtype=DTYPES[p["dtype"]], requires_grad=True) for p in owned]
            for parameter in made:
                parameter.grad_dtype = None  # a gradient may have another type
            optimizer = torch.optim.SGD(made, lr=0.0, foreach=False, fused=False)
            optimizer.register_step_post_hook(self.note_step)
            self.optimizers.append(optimizer)

    def note_step(self, *_: Any) -> None:  # noqa: ANN401
        self.stepped = True

    def parameters(self, optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
        return optimizer.param_groups[0]["params"]

    def update(self, arguments: list[Any]) -> None:
        match arguments:
            case [] | [None]:
                self.scaler.update()
            case [{"int": value}]:
                self.scaler.update(value)
            case [{"tensor": description}]:
                made = tensor(description, description["shape"], "float32")
                self.scaler.update(made.requires_grad_(description.get("requires_grad", False)))
            case [value]:
                self.scaler.update(number(value))

    def call(self, name: str, arguments: list[Any]) -> None:
        match name:
            case "scale":
                self.asked_to_scale = True
                self.scaler.scale(torch.ones(()))
            case "gradients":
                for optimizer, described, owned in zip(
                    self.optimizers, arguments[0], self.sequence["parameters"], strict=True
                ):
                    for held, one, parameter in zip(self.parameters(optimizer), described, owned, strict=True):
                        held.grad = None if one is None else tensor(one, parameter["shape"], parameter["dtype"])
            case "unscale":
                self.scaler.unscale_(self.optimizers[arguments[0]])
            case "step":
                closure = {"closure": lambda: 0.0} if len(arguments) == 2 else {}
                self.scaler.step(self.optimizers[arguments[0]], **closure)
            case "update":
                self.update(arguments)
            case "save":
                self.saved = self.scaler.state_dict()
            case "load":
                given = arguments[0] if arguments else self.saved
                self.scaler.load_state_dict({key: number(v) if key in FLOATS else v for key, v in given.items()})
            case "set_growth_interval":
                self.scaler.set_growth_interval(arguments[0])
            case _:
                getattr(self.scaler, name)(number(arguments[0]))

    def stage(self, name: str, arguments: list[Any]) -> str:
        """Of the optimizer that is meant, else of the one that has come farthest."""
        if not self.scaler.is_enabled():
            return "disabled"
        if self.scaler._scale is None:
            return STAGES[0]
        meant = [self.optimizers[arguments[0]]] if name in ("unscale", "step") else self.optimizers
        states = self.scaler._per_optimizer_states
        return STAGES[1 + max(states[id(o)]["stage"].value if id(o) in states else 0 for o in meant)]

    def scale_and_tracker(self) -> tuple[str | None, str | None]:
        if not self.scaler.is_enabled():
            return ((1.0).hex(), "0") if self.asked_to_scale else (None, None)
        scale, tracker = self.scaler._scale, self.scaler._growth_tracker
        return (
            None if scale is None else scale.item().hex(),
            None if tracker is None else str(tracker.item()),
        )

    def entry(self, op: list[Any]) -> dict[str, Any]:
        name, *arguments = op
        entry: dict[str, Any] = {"op": name}
        if name in ("unscale", "step"):
            entry["optimizer"] = arguments[0]
        before = self.scale_and_tracker()
        stage = self.stage(name, arguments)
        self.stepped = False
        try:
            self.call(name, arguments)
        except KeyError as error:
            entry["error"] = f"The source state dict has no {error}."
        except (AssertionError, AttributeError, RuntimeError, ValueError) as error:
            entry["error"] = str(error)
        entry["scale"], entry["growth_tracker"] = self.scale_and_tracker()
        if name == "step":
            entry["stepped"] = self.stepped
        if name in ("unscale", "step"):
            entry["gradients"] = [[gradient_entry(p.grad) for p in self.parameters(o)] for o in self.optimizers]
        self.note(form(op), stage, before, entry)
        return entry

    def note(self, called: str, stage: str, before: tuple[str | None, str | None], entry: dict[str, Any]) -> None:
        self.reached[f"{called} when {stage}"] += 1
        if "error" in entry:
            self.reached[f"{called} raises: {entry['error']}"] += 1
        elif called == "step":
            self.reached["stepped" if self.stepped else "skipped"] += 1
        elif called == "update" and before[0] is not None:
            old, new = (abs(float.fromhex(scale)) for scale in (before[0], entry["scale"]))
            tracker = "is 0" if entry["growth_tracker"] == "0" else "counts"
            self.reached[
                f"tracker {tracker}, {'larger' if new > old else 'smaller' if new < old else 'same'} scale"
            ] += 1
        if called == "unscale" and stage == "READY":
            for parameter in self.parameters(self.optimizers[entry["optimizer"]]):
                self.reached.update(kinds(parameter.grad))

    def play(self) -> dict[str, Any]:
        trace = [self.entry(op) for op in self.sequence["ops"]]
        last = self.scaler.state_dict()
        state = {key: float(value).hex() if key in FLOATS else str(value) for key, value in last.items()}
        return {"trace": trace, "state": state}
