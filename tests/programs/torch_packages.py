"""Compiles the AOTInductor packages that test_models.py compares, into a folder."""

from __future__ import annotations

import sys

import torch
from safetensors.torch import save_file

folder = sys.argv[1]
torch.manual_seed(5)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5)).eval()
rows = torch.randn(64, 12)
labels = model(rows).argmax(1)
torch.jit.script(model).save(folder + "/net.pt")
save_file({"rows": rows, "labels": labels}, folder + "/net.safetensors")
wrong = torch.nn.Sequential(*[torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5)]).eval()
wrong.load_state_dict(model.state_dict())
with torch.no_grad():
    wrong[0].weight[:, -1] = 0
    for name, net, dtype in (
        ("fp32", model, torch.float32),
        ("bf16", model, torch.bfloat16),
        ("wrong", wrong, torch.bfloat16),
    ):
        exported = torch.export.export(net.to(dtype), (rows.to(dtype),))
        torch._inductor.aoti_compile_and_package(exported, package_path=folder + "/" + name + ".pt2")
