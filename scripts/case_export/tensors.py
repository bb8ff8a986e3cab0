"""What of a module and its tensors ampgate can take: FP32 on the CPU, which it converts to FP16 and BF16 itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from case_export.error import ExportError

if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE_TYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def storable(name: str, tensor: object) -> Tensor:
    """The tensor as a file holds it: dense, contiguous, without gradient. Refuses what a case cannot have."""
    if not isinstance(tensor, Tensor):
        raise ExportError(f"{name} is {describe(tensor)}, not a tensor", "give tensors; fix the rest in the module")
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise ExportError(f"{name} is sparse or quantized", "give a dense tensor")
    if tensor.device.type != "cpu":
        raise ExportError(f"{name} is on {tensor.device}", "export from the CPU; ampgate's --device chooses the device")
    if tensor.is_floating_point() and tensor.dtype != torch.float32:
        raise ExportError(
            f"{name} is {tensor.dtype}", "export in float32: ampgate makes FP16 and BF16 of it, and FP64 for its oracle"
        )
    if not tensor.is_floating_point() and tensor.dtype not in WHOLE_TYPES:
        raise ExportError(f"{name} is {tensor.dtype}, which a case file cannot hold", "give float32, integers or bool")
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def named_inputs(module: nn.Module, inputs: object) -> dict[str, Tensor]:
    """Inputs by the names of forward's arguments, in the order of these."""
    known = argument_names(module)
    if not isinstance(inputs, Mapping) or not inputs:
        raise ExportError(
            f"the inputs are {describe(inputs)}, without names",
            f"give a dict by the names of forward's arguments: {', '.join(known)}",
        )
    for name in inputs:
        if name not in known:
            raise ExportError(f"forward has no argument {name!r}", f"its arguments: {', '.join(known)}")
    own = {name for name, _ in named_state(module)}
    for name in inputs:
        if name in own:
            raise ExportError(f"an argument and a parameter of the module are called {name!r}", "rename one of them")
    return {name: storable(f"input {name!r}", inputs[name]) for name in known if name in inputs}


def argument_names(module: nn.Module) -> list[str]:
    """Of forward, all of which must have names."""
    if isinstance(module, torch.jit.ScriptModule):
        return [argument.name for argument in module.forward.schema.arguments if argument.name != "self"]
    parameters = inspect.signature(module.forward).parameters.values()
    nameless = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_KEYWORD)
    if any(parameter.kind in nameless for parameter in parameters):
        raise ExportError(
            "forward takes arguments without names (*args, **kwargs, or /)",
            "wrap the module in one whose forward names each tensor that it takes",
        )
    return [parameter.name for parameter in parameters]


def check_state(module: nn.Module) -> None:
    """Parameters and buffers, as inputs."""
    for name, tensor in named_state(module):
        storable(f"{name!r} of the module", tensor)


def named_state(module: nn.Module) -> Iterable[tuple[str, Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()


def describe(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def same_bits(a: Tensor, b: Tensor) -> bool:
    """The same type, sizes and bytes: NaN equals NaN, and -0.0 is not 0.0."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(*(tensor.detach().contiguous().reshape(-1).view(torch.uint8) for tensor in (a, b)))
