"""What forward returns, as tensors by name: in the order in which ampgate takes them apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from case_export.error import ExportError
from case_export.tensors import describe


def named_outputs(returned: object, names: Sequence[str] | None) -> dict[str, Tensor]:
    """A tensor, tensors in tuples and lists, or a dict of tensors, of which `names` chooses. None: all."""
    if isinstance(returned, Mapping):
        chosen = list(returned) if names is None else list(names)
        for name in chosen:
            if name not in returned:
                raise ExportError(f"forward returns nothing called {name!r}", f"it returns {', '.join(returned)}")
        tensors = [judged(name, returned[name]) for name in chosen]
    else:
        tensors = list(flat(returned))
        chosen = names_for(len(tensors)) if names is None else list(names)
    if len(chosen) != len(tensors) or len(set(chosen)) != len(chosen) or not all(chosen):
        raise ExportError(f"{len(chosen)} names for {len(tensors)} outputs: {', '.join(chosen)}", "give each its own")
    if not tensors:
        raise ExportError("forward returns nothing", "return a tensor, or several")
    return dict(zip(chosen, tensors, strict=True))


def names_for(count: int) -> list[str]:
    return ["out" if number == 0 else f"out{number}" for number in range(count)]


def flat(value: object) -> Iterator[Tensor]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from flat(item)
    else:
        yield judged("what forward returns", value)


def judged(name: str, value: object) -> Tensor:
    if not isinstance(value, Tensor):
        raise ExportError(f"{name} is {describe(value)}, not a tensor", "return tensors: only these can be judged")
    if value.is_complex() or value.is_quantized or value.layout != torch.strided:
        raise ExportError(f"{name} is {value.dtype}, {value.layout}", "return dense real tensors")
    return value
