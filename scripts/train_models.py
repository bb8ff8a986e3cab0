"""Trains the small models of cases/models and writes their weights and datasets to cases/data.

    pip install -r scripts/requirements.txt -r scripts/requirements-train.txt
    python scripts/train_models.py [FOLDER]

The seed is fixed and one thread is used, so that a second run on the same machine writes the same files.
"""

import argparse
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sklearn.datasets import load_diabetes, load_digits
from torch import Tensor, nn

SEED = 20240601
DIGITS_TEST = 512
DIABETES_TEST = 128
COUNTS_PER_LEVEL = 4000  # of a detector that counts to 64000 for the brightest of 16 grey levels
ROOT = Path(__file__).resolve().parent.parent


def split(count: int, test: int) -> tuple[Tensor, Tensor]:
    """Row numbers for training and for the held-out test, each in ascending order."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(SEED))
    return order[test:].sort().values, order[:test].sort().values


def fit(model: nn.Module, loss: nn.Module, inputs: Tensor, targets: Tensor, epochs: int, weight_decay: float) -> None:
    """AdamW with a cosine schedule, batches of 64 in a seeded order."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs)).split(64):
            optimizer.zero_grad()
            loss(model(inputs[rows]), targets[rows]).backward()
            optimizer.step()
        schedule.step()


def parameters(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def digits(folder: Path) -> None:
    data = load_digits()
    images = torch.from_numpy(data.images.astype(np.uint8))
    labels = torch.from_numpy(data.target.astype(np.int64))
    train, test = split(len(images), DIGITS_TEST)
    inputs = images.to(torch.float32).unsqueeze(1) / 16

    torch.manual_seed(SEED)
    layers = [
        ("conv1", nn.Conv2d(1, 16, 3, padding=1)),
        ("relu1", nn.ReLU()),
        ("conv2", nn.Conv2d(16, 32, 3, padding=1)),
        ("relu2", nn.ReLU()),
        ("pool", nn.MaxPool2d(2)),
        ("flatten", nn.Flatten()),
        ("fc1", nn.Linear(32 * 4 * 4, 64)),
        ("relu3", nn.ReLU()),
        ("fc2", nn.Linear(64, 10)),
    ]
    model = nn.Sequential(OrderedDict(layers))
    fit(model, nn.CrossEntropyLoss(), inputs[train], labels[train], epochs=40, weight_decay=1e-2)

    with torch.no_grad():
        right = (model(inputs[test]).argmax(1) == labels[test]).sum().item()
    print(f"digits_classifier: {right} of {len(test)} held-out images right ({right / len(test):.4f})")
    save_file({"images": images, "labels": labels, "test": test}, folder / "digits.safetensors")
    save_file(parameters(model), folder / "digits_classifier.safetensors")


class InBf16(nn.Module):
    """A model whose forward pass runs under autocast: one scope a call, since a scope keeps cast weights."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.model(inputs)


def detector(folder: Path) -> None:
    """Trained in BF16 on raw detector counts: its first layer gives values that FP16 cannot hold."""
    data = load_file(folder / "digits.safetensors")
    train, test = split(len(data["images"]), DIGITS_TEST)
    counts = data["images"].to(torch.float32).flatten(1) * COUNTS_PER_LEVEL
    labels = data["labels"]

    torch.manual_seed(SEED)
    layers = [
        ("stem", nn.Linear(64, 128)),
        ("norm", nn.LayerNorm(128)),
        ("hidden", nn.Linear(128, 64)),
        ("relu", nn.ReLU()),
        ("head", nn.Linear(64, 10)),
    ]
    model = nn.Sequential(OrderedDict(layers))
    nn.init.kaiming_normal_(model.stem.weight)
    in_bf16 = InBf16(model)
    fit(in_bf16, nn.CrossEntropyLoss(), counts[train], labels[train], epochs=40, weight_decay=1e-2)

    with torch.no_grad():
        right = (in_bf16(counts[test]).argmax(1) == labels[test]).sum().item()
        largest = model.stem(counts[test]).abs().max().item()
    print(f"detector_classifier: {right} of {len(test)} held-out images right in BF16; stem up to {largest:.0f}")
    save_file(parameters(model), folder / "detector_classifier.safetensors")


def diabetes(folder: Path) -> None:
    data = load_diabetes(scaled=False)
    features = torch.from_numpy(data.data)
    targets = torch.from_numpy(data.target)
    train, test = split(len(features), DIABETES_TEST)
    mean, deviation = features[train].mean(0), features[train].std(0)
    inputs = ((features - mean) / deviation).to(torch.float32)
    target_mean, target_deviation = targets[train].mean(), targets[train].std()
    standardised = ((targets - target_mean) / target_deviation).to(torch.float32)

    torch.manual_seed(SEED)
    layers = [
        ("fc1", nn.Linear(10, 64)),
        ("relu1", nn.ReLU()),
        ("fc2", nn.Linear(64, 64)),
        ("relu2", nn.ReLU()),
        ("fc3", nn.Linear(64, 1)),
        ("flatten", nn.Flatten(0)),
    ]
    model = nn.Sequential(OrderedDict(layers))
    fit(model, nn.MSELoss(), inputs[train], standardised[train], epochs=20, weight_decay=1e-1)

    with torch.no_grad():  # the last layer answers in the target's own unit
        model.fc3.weight *= target_deviation
        model.fc3.bias *= target_deviation
        model.fc3.bias += target_mean
        rmse = (model(inputs[test]) - targets[test]).square().mean().sqrt().item()
    print(f"mlp_regressor: RMSE {rmse:.2f} on {len(test)} held-out patients (a constant: {targets[test].std():.2f})")
    save_file({"features": features, "targets": targets, "test": test}, folder / "diabetes.safetensors")
    weights = parameters(model) | {"feature_mean": mean, "feature_deviation": deviation}
    save_file(weights, folder / "mlp_regressor.safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "cases" / "data", help="where the files go")
    folder = parser.parse_args().folder
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    digits(folder)
    detector(folder)
    diabetes(folder)


if __name__ == "__main__":
    main()
