"""A module as TorchScript that computes the same, bit by bit, or the reason why there is none."""

from __future__ import annotations

import contextlib
import copy
import warnings
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from case_export.error import ExportError
from case_export.outputs import named_outputs
from case_export.tensors import named_state, same_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Inputs = dict[str, Tensor]
Outputs = dict[str, Tensor]
Method = Literal["trace", "script"]
MAX_LINES = 12  # of what LibTorch says


@contextlib.contextmanager
def in_eval_mode(module: nn.Module) -> Iterator[None]:
    """The whole module; afterwards each part is in its own mode again."""
    before = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was_training in before:
            part.training = was_training


def run(module: nn.Module, inputs: Inputs, names: Sequence[str] | None) -> Outputs:
    """The outputs by name, computed as they are written: TorchScript's optimiser is off. Inputs stay as they are."""
    given = {name: tensor.clone() for name, tensor in inputs.items()}
    with torch.no_grad(), torch.jit.optimized_execution(False):
        return named_outputs(module(**given), names)


def check_pure(module: nn.Module, inputs: Inputs, names: Sequence[str] | None) -> Outputs:
    """The outputs, where a second call gives the same bits and neither changes inputs or the module's own state."""
    state = {name: tensor.detach().clone() for name, tensor in named_state(module)}
    given = {name: tensor.clone() for name, tensor in inputs.items()}
    try:
        with torch.no_grad(), torch.jit.optimized_execution(False):
            module(**given)
    except Exception as error:
        raise ExportError(f"forward fails on these inputs: {said_by(error)}", "give inputs that it takes") from error
    for name, tensor in inputs.items():
        if not same_bits(tensor, given[name]):
            raise ExportError(
                f"forward writes to its input {name!r}", "let it work on a copy: later calls would see other values"
            )
    first, second = run(module, inputs, names), run(module, inputs, names)
    for name, tensor in named_state(module):
        if not same_bits(tensor, state[name]):
            raise ExportError(
                f"forward changes {name!r} of the module, so that every call computes something else",
                "leave that to training: `if self.training`",
            )
    if not same_outputs(first, second):
        raise ExportError(
            "two calls with the same inputs give different outputs, although the module is in eval mode",
            "switch off what draws random numbers: functional.dropout needs `training=self.training`",
        )
    return first


def same_outputs(a: Outputs, b: Outputs) -> bool:
    return a.keys() == b.keys() and all(same_bits(a[name], b[name]) for name in a)


def to_torchscript(
    module: nn.Module, inputs: Inputs, names: Sequence[str], method: Method
) -> torch.jit.ScriptModule:
    """By tracing it with these inputs, or by compiling its source. Refuses what then computes something else."""
    if isinstance(module, torch.jit.ScriptModule):
        return module
    if method == "script":
        with quietly():
            return attempt("scripted", "export it traced, or rewrite what TorchScript's compiler does not know",
                           lambda: torch.jit.script(module))  # fmt: skip
    with quietly() as said, torch.no_grad():
        # Not strict: forward may return a dict.
        traced = attempt("traced", "try it scripted", lambda: torch.jit.trace(
            module, example_kwarg_inputs=inputs, check_trace=False, strict=False))  # fmt: skip
    for other in other_values(inputs):
        check_trace(module, traced, other, names, [str(warning.message) for warning in said])
    check_types(module, traced, inputs, names)
    return traced


@contextlib.contextmanager
def quietly() -> Iterator[list[warnings.WarningMessage]]:
    """What is warned of within."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield said


def attempt(what: str, action: str, make: Callable[[], torch.jit.ScriptModule]) -> torch.jit.ScriptModule:
    try:
        return make()
    except Exception as error:
        raise ExportError(f"the module cannot be {what}: {said_by(error)}", action) from error


def said_by(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return "\n    ".join(lines[:MAX_LINES] + (["…"] if len(lines) > MAX_LINES else []))


def other_values(inputs: Inputs) -> Iterator[Inputs]:
    """The same sizes and other values, which may take other branches than those that were traced."""
    floating = [name for name, tensor in inputs.items() if tensor.is_floating_point()]
    for change in (torch.neg, torch.zeros_like, lambda tensor: tensor * 100):
        yield inputs | {name: change(inputs[name]) for name in floating}
    yield {name: tensor.flip(0) if tensor.dim() > 0 else tensor for name, tensor in inputs.items()}


def check_trace(
    module: nn.Module, traced: torch.jit.ScriptModule, inputs: Inputs, names: Sequence[str], warned: Sequence[str]
) -> None:
    try:
        right = run(module, inputs, names)
    except Exception:  # values that the module itself does not take
        return
    try:
        same = same_outputs(right, run(traced, inputs, names))
    except Exception:
        same = False
    if not same:
        hints = [text.splitlines()[0] for text in warned if "Converting a tensor" in text]
        raise ExportError(
            "the trace computes something else than the module for other values of the same sizes: it keeps the branch "
            "that the values it saw have chosen" + (f" ({hints[0]})" if hints else ""),
            "export it scripted, or compute both branches and choose with torch.where",
        )


def check_types(module: nn.Module, traced: torch.jit.ScriptModule, inputs: Inputs, names: Sequence[str]) -> None:
    """Other types, which cast-fp16 and cast-bf16 need. FP64 stands for them: every operator has it on the CPU."""
    converted = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()}
    try:
        right = run(copy.deepcopy(module).double(), converted, names)
    except Exception:  # the module itself has one type alone
        return
    try:
        outputs = run(copy.deepcopy(traced).double(), converted, names)
        same = all(outputs[name].dtype == right[name].dtype for name in right)
    except Exception:
        same = False
    if not same:
        raise ExportError(
            "the trace keeps float32 for a tensor that the module makes in the type of its weights, as the first state "
            "of an LSTM: it could not be converted to FP16 or BF16",
            "export it scripted (a bare nn.LSTM or nn.GRU within a module of yours), or give that tensor as an input",
        )
