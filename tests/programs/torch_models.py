"""Writes the TorchScript modules that test_models.py qualifies, and their data, into a folder."""

import sys

import torch
from safetensors.torch import save_file

folder = sys.argv[1]
torch.manual_seed(3)
torch.set_num_threads(1)


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(12, 32), torch.nn.BatchNorm1d(32), torch.nn.GELU(), torch.nn.Dropout(0.2)
        )
        self.norm = torch.nn.LayerNorm(32)
        self.head = torch.nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.body(x)))


centres = 1.5 * torch.randn(5, 12)
labels = torch.randint(0, 5, (600,))
rows = centres[labels] + torch.randn(600, 12)
model = Classifier()
optimiser = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(120):
    loss = torch.nn.functional.cross_entropy(model(rows[:400]), labels[:400])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
model.eval()
torch.jit.script(model).save(folder + "/classifier.pt")
torch.jit.trace(model, rows[:3]).save(folder + "/traced.pt")
torch.jit.freeze(torch.jit.script(model)).save(folder + "/frozen.pt")
save_file({"rows": rows[400:].contiguous(), "labels": labels[400:].contiguous()}, folder + "/test.safetensors")


# Through values that FP16 cannot hold, in one branch alone.
class Tall(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(12, 16)
        self.tower = torch.nn.ModuleDict({"up": torch.nn.Linear(16, 16), "down": torch.nn.Linear(16, 16)})
        self.last = torch.nn.Linear(16, 1)
        with torch.no_grad():
            self.tower["up"].weight *= 1e6
            self.tower["up"].bias *= 1e6
            self.tower["down"].weight *= 1e-6

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(features))
        x = self.tower["down"](torch.relu(self.tower["up"](x)))
        return self.last(x).squeeze(1)


tall = Tall().eval()
torch.jit.script(tall).save(folder + "/tall.pt")
with torch.no_grad():
    save_file(
        {"features": rows[:40].contiguous(), "targets": (tall(rows[:40]) + 0.01 * torch.randn(40)).contiguous()},
        folder + "/tall.safetensors",
    )

torch.save(model.state_dict(), folder + "/state.pt")
torch.library.define("mine::twice", "(Tensor x) -> Tensor")
torch.library.impl("mine::twice", "CPU")(lambda x: x * 2)


@torch.jit.script
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.mine.twice(x)


class Foreign(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return twice(x)


torch.jit.script(Foreign()).save(folder + "/foreign.pt")
