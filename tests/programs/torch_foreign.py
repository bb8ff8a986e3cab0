"""Writes TorchScript modules that call a library's operators into a folder: LIBRARY... FOLDER."""

import sys

import torch

*libraries, folder = sys.argv[1:]
for library in libraries:
    torch.ops.load_library(library)
torch.manual_seed(5)
torch.set_num_threads(1)


class Right(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(24, 200)
        self.bias = torch.nn.Parameter(torch.randn(200))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.example.bias_gelu_sum(self.up(x), self.bias)


class SumInBf16(Right):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.example_wrong.sum_in_bf16(self.up(x), self.bias)


class SumInOwnType(Right):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.example_wrong.sum_in_own_type(self.up(x), self.bias)


for module in (Right, SumInBf16, SumInOwnType):
    torch.jit.script(module().eval()).save(f"{folder}/{module.__name__}.pt")
