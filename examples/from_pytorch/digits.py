"""Trains a small network on hand-written digits and hands it to export_case, with the held-out images.

    scripts/export_case examples/from_pytorch/digits.py:build --out digits

Data: cases/data/README.md. The seed is fixed; two threads or one give other weights in the last digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

DATA = Path(__file__).resolve().parents[2] / "cases" / "data" / "digits.safetensors"
SEED = 7
EPOCHS = 15
PRODUCTS = 64 * 9 * 8 + 64 * 9 * 8 * 16 + 16 * 16 * 10  # for one image: two convolutions and the last layer


class DigitReader(nn.Module):
    """Images (rows, 1, 8, 8) to scores (rows, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU())
        self.body = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.GELU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * 16, 10))

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(self.stem(images)))


def train(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimizer.step()


def build() -> dict[str, Any]:
    """The arguments of export_case."""
    data = load_file(DATA)
    images, labels = data["images"].unsqueeze(1).float() / 16, data["labels"]
    held_out = torch.zeros(len(images), dtype=torch.bool)
    held_out[data["test"]] = True

    torch.manual_seed(SEED)
    model = DigitReader()
    train(model, images[~held_out], labels[~held_out])
    return {
        "module": model,
        "name": "digit-reader",
        "description": "hand-written digits of 8 x 8 grey levels: which of ten?",
        "inputs": {"images": images[held_out]},
        "outputs": ["scores"],
        "labels": labels[held_out],
        "flops": 2 * PRODUCTS * int(held_out.sum()),
    }
