"""scripts/export_case: what it writes is the module, bit by bit, and what ampgate could not judge is refused."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT, ampgate
from test_case_file_schema import errors
from torch import Tensor, nn

sys.path.insert(0, str(ROOT / "scripts"))
from case_export.error import ExportError
from export_case import Exported, export_case

ITEM_BYTES = {"F32": 4, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}


class Scaled(nn.Module):
    """Gives its input times 1: right answers are known without running anything."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class Branches(nn.Module):
    """Chooses its path by a value."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x + 1
        return x - 1


class Gives(nn.Module):
    """Returns what a function makes of its input."""

    def __init__(self, function: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:  # noqa: ANN401
        return self.function(x)


class Counts(nn.Module):
    """Changes its own buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x + self.calls


class Clash(Scaled):
    def forward(self, scale: Tensor) -> Tensor:
        return self.scale * scale


class Nameless(nn.Module):
    def forward(self, *tensors: Tensor) -> Tensor:
        return tensors[0]


def mlp() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.5), nn.Linear(16, 3))


def rows(*sizes: int) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(2))


def export(folder: Path, module: nn.Module, inputs: Any = None, **more: Any) -> Exported:  # noqa: ANN401
    return export_case(module, {"x": rows(8, 3)} if inputs is None else inputs, folder=folder, name="mine", **more)


def header(file: Path) -> dict[str, Any]:
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    entries = json.loads(content[8 : 8 + length])
    entries.pop("__metadata__", None)
    assert max(entry["data_offsets"][1] for entry in entries.values()) == len(content) - 8 - length
    for entry in entries.values():
        begin, end = entry["data_offsets"]
        item = ITEM_BYTES[entry["dtype"]]
        assert end - begin == item * math.prod(entry["shape"])
        assert (8 + length + begin) % item == 0, "not aligned"
    return entries


def test_three_files_that_name_each_other(tmp_path: Path) -> None:
    model = mlp().train()
    images, labels = rows(40, 6), torch.arange(40) % 3
    exported = export(tmp_path / "new" / "folder", model, {"input": images}, outputs=["scores"], labels=labels)
    assert sorted(path.name for path in exported.case_file.parent.iterdir()) == [
        "mine.json",
        "mine.pt",
        "mine.safetensors",
    ]
    case = json.loads(exported.case_file.read_text())
    assert errors(case) == []
    assert case["module"] == "mine.pt"
    assert case["inputs"] == {"input": {"file": "mine.safetensors", "tensor": "input"}}
    assert case["decisions"] == {"output": "scores", "kind": "argmax", "labels": "labels"}
    assert {name: entry["shape"] for name, entry in header(exported.case_file.with_suffix(".safetensors")).items()} == {
        "input": [40, 6],
        "labels": [40],
    }
    loaded = torch.jit.load(exported.case_file.with_suffix(".pt"))
    assert model.training, "the module is in the mode that it was in"
    assert all(part.training for part in model.modules())
    with torch.no_grad(), torch.jit.optimized_execution(False):
        assert torch.equal(loaded(input=images), model.eval()(images))


def test_several_inputs_in_any_order_and_outputs(tmp_path: Path) -> None:
    class Two(nn.Module):
        def forward(self, ids: Tensor, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
            assert mask is None
            return x[ids] * 2, x.sum(-1)

    ids = torch.tensor([3, 0, 1], dtype=torch.int32)
    exported = export(tmp_path, Two(), {"x": rows(5, 4).t().contiguous().t(), "ids": ids}, outputs=["picked", "sums"])
    case = json.loads(exported.case_file.read_text())
    assert list(case["inputs"]) == ["ids", "x"]
    assert case["outputs"] == ["picked", "sums"]
    assert case["meaning"] == "values"
    assert "data" not in case


@pytest.mark.parametrize("method", ["trace", "script"])
def test_outputs_by_the_keys_of_a_dict(tmp_path: Path, method: Any) -> None:  # noqa: ANN401
    class Keys(nn.Module):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {"twice": x * 2, "half": x / 2}

    everything = json.loads(export(tmp_path / "a", Keys(), method=method).case_file.read_text())
    assert everything["outputs"] == ["twice", "half"]
    chosen = export(tmp_path / "b", Keys(), method=method, outputs=["half"], labels=torch.zeros(8, dtype=torch.int64))
    assert json.loads(chosen.case_file.read_text())["decisions"]["output"] == "half"


@pytest.mark.parametrize("count", [50, 1000])
def test_quality_of_scores(tmp_path: Path, count: int) -> None:
    labels = torch.arange(count) % 4
    scores = nn.functional.one_hot(labels, 4).float()
    scores[:10] = scores[:10].roll(1, 1)  # wrong in ten rows
    scores[10:12] = 1.0  # ties: the first class wins, which is not label 2 or 3
    exported = export(tmp_path, Scaled(), {"x": scores}, labels=labels)
    assert exported.quality == {"accuracy": (count - 12) / count}
    least = json.loads(exported.case_file.read_text())["minimum_accuracy"]
    assert least == (count - 12 - (1 if count == 50 else 5)) / count


@pytest.mark.parametrize(
    ("decisions", "scores", "labels", "accuracy"),
    [
        ({"kind": "threshold", "thresholds": [0.5]}, [[0.5], [0.4], [0.9], [0.1]], [1, 0, 0, 0], 0.75),
        ({"kind": "threshold", "thresholds": [0.5, 0.2]}, [[0.6, 0.1], [0.2, 0.3]], [[1, 1], [0, 1]], 0.75),
        ({"kind": "top_k", "k": 2}, [[3, 2, 1], [3, 2, 1], [1, 2, 3]], [1, 2, 1], 2 / 3),
        ({"kind": "actions", "actions": ["go", "stop", "stop"]}, [[0, 1, 0], [1, 0, 0]], [2, 1], 0.5),
        ({"kind": "actions", "actions": ["low", "high"], "edges": [0.5]}, [0.5, 0.4, 0.7], [1, 0, 0], 2 / 3),
    ],
)
def test_other_decisions(tmp_path: Path, decisions: dict[str, Any], scores: Any, labels: Any, accuracy: float) -> None:  # noqa: ANN401
    inputs = {"x": torch.tensor(scores, dtype=torch.float32)}
    exported = export(tmp_path, Scaled(), inputs, labels=torch.tensor(labels), decisions=decisions)
    assert exported.quality["accuracy"] == pytest.approx(accuracy)
    assert json.loads(exported.case_file.read_text())["decisions"] == {"output": "out", **decisions, "labels": "labels"}


def test_quality_of_a_regression(tmp_path: Path) -> None:
    prediction = torch.tensor([1.0, 2.0, 3.0])
    exported = export(tmp_path, Scaled(), {"x": prediction}, targets=torch.tensor([1.0, 2.0, 5.0]))
    rmse = math.sqrt(4 / 3)
    assert exported.quality["rmse"] == pytest.approx(rmse)
    case = json.loads(exported.case_file.read_text())
    assert errors(case) == []
    assert case["maximum_rmse"] == pytest.approx(1.05 * rmse)
    assert (case["meaning"], case["targets"], case["target_output"]) == ("regression", "targets", "out")


def test_branches_need_the_compiler(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="keeps the branch"):
        export(tmp_path, Branches(), {"x": torch.ones(2, 2)})
    exported = export(tmp_path, Branches(), {"x": torch.ones(2, 2)}, method="script")
    loaded = torch.jit.load(exported.case_file.with_suffix(".pt"))
    assert torch.equal(loaded(x=-torch.ones(2, 2)), -2 * torch.ones(2, 2))


def test_types_that_a_trace_keeps(tmp_path: Path) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.LSTM(3, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.cells(x)[0]

    inputs = {"x": rows(5, 2, 3)}
    with pytest.raises(ExportError, match="keeps float32"):
        export(tmp_path, Recurrent(), inputs)
    exported = export(tmp_path, Recurrent(), inputs, method="script")
    loaded = torch.jit.load(exported.case_file.with_suffix(".pt")).double()
    assert loaded(x=inputs["x"].double()).dtype == torch.float64


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "inputs without names": ({"inputs": rows(8, 3)}, "a dict by the names of forward's arguments: x"),
    "an input of another name": ({"inputs": {"y": rows(8, 3)}}, "its arguments: x"),
    "an input that is no tensor": ({"inputs": {"x": 3.0}}, "input 'x' is a float, not a tensor"),
    "half inputs": ({"inputs": {"x": rows(8, 3).half()}}, "export in float32"),
    "complex inputs": ({"inputs": {"x": torch.zeros(2, dtype=torch.complex64)}}, "cannot hold"),
    "sparse inputs": ({"inputs": {"x": rows(8, 3).to_sparse()}}, "sparse"),
    "double weights": ({"module": Scaled().double()}, "'scale' of the module is torch.float64"),
    "nameless arguments": ({"module": Nameless()}, "without names"),
    "None returned": ({"module": Gives(lambda x: (x + 1, None))}, "what forward returns is None"),
    "numbers in a dict": ({"module": Gives(lambda x: {"y": x + 1, "k": 3})}, "k is a int"),
    "names that the dict lacks": ({"module": Gives(lambda x: {"y": x + 1}), "outputs": ["z"]}, "it returns y"),
    "complex outputs": ({"module": Gives(lambda x: torch.complex(x, x))}, "dense real"),
    "hidden dropout": ({"module": Gives(lambda x: nn.functional.dropout(x))}, "training=self.training"),
    "a counter": ({"module": Counts()}, "changes 'calls' of the module"),
    "written inputs": ({"module": Gives(lambda x: x.add_(1))}, "writes to its input 'x'"),
    "an error when run": ({"module": Gives(lambda x: x @ x)}, "forward fails"),
    "what cannot be scripted": ({"module": Gives(lambda x: x), "method": "script"}, "cannot be scripted"),
    "too few names": ({"outputs": ["a", "b"]}, "2 names for 1 outputs"),
    "a name with capitals": ({"name": "Mine"}, "no case's name"),
    "an argument called like a weight": ({"module": Clash(), "inputs": {"scale": rows(2)}}, "are called 'scale'"),
    "an unknown method": ({"method": "export"}, "known: trace, script"),
    "labels and targets": ({"labels": torch.zeros(8), "targets": torch.zeros(8)}, "one of them"),
    "too few labels": ({"labels": torch.zeros(7, dtype=torch.int64)}, "7 labels of torch.int64 for 8 decisions"),
    "labels beyond the classes": ({"labels": torch.full((8,), 3)}, "give labels from 0 to 2"),
    "targets of other sizes": ({"targets": torch.zeros(8)}, "[8], the output [8, 3]"),
    "an unknown decision": ({"decisions": "softmax"}, "known: argmax"),
    "an unknown output": ({"of_output": "y", "labels": torch.zeros(8, dtype=torch.int64)}, "the outputs: out"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(tmp_path: Path, what: str) -> None:
    changes, text = REFUSED[what]
    arguments = {"module": Scaled(), "inputs": {"x": rows(8, 3)}, "name": "mine", "folder": tmp_path} | changes
    with pytest.raises(ExportError) as refused:
        export_case(**arguments)
    assert text in str(refused.value)
    assert len(str(refused.value).splitlines()) >= 2, "no word on what to do"
    assert list(tmp_path.iterdir()) == []


MODEL_FILE = """
import torch
from beside import SIZE
def build():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(SIZE, 12), torch.nn.ReLU(), torch.nn.Linear(12, 1), torch.nn.Flatten(0))
    x = torch.randn(64, SIZE)
    return {"module": model, "inputs": {"input": x}, "outputs": ["y"], "targets": model(x).detach() + 0.1}
def words():
    return "no dict"
def breaks():
    raise KeyError("of its own")
def more():
    return build() | {"lables": 1}
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "My_Model.py").write_text(MODEL_FILE)
    (folder / "beside.py").write_text("SIZE = 5\n")
    (folder / "json.py").write_text("raise SystemExit('a file that nobody named was run')\n")
    program = [sys.executable, ROOT / "scripts" / "export_case.py", *arguments]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_and_the_verdict(tmp_path: Path) -> None:
    done = command(tmp_path, "My_Model.py:build", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "rmse 0.1" in done.stdout
    judged = ampgate("validate", "--device", "cpu", "--case-file", tmp_path / "out" / "my_model.json",
                     "--load-library", tmp_path / "out" / "my_model.pt",
                     "--precision", "autocast-bf16,cast-bf16", "--archive", tmp_path / "a")  # fmt: skip
    assert judged.code in (0, 1), judged.err
    assert "my_model/" in judged.out
    assert "RMS error 0.1" in judged.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["My_Model.py:words"], "returns a str"),
        (["My_Model.py:breaks"], "breaks() of My_Model.py failed"),
        (["My_Model.py:nothing"], "has no function 'nothing'"),
        (["My_Model.py:more"], "no argument 'lables'"),
        (["My_Model.py"], "names no file and function"),
        (["gone.py:build"], "names no file and function"),
    ],
)
def test_a_wrong_command(tmp_path: Path, arguments: list[str], text: str) -> None:
    done = command(tmp_path, *arguments, "--out", "out")
    assert done.returncode == 2, done.stdout + done.stderr
    assert text in done.stderr
    assert not (tmp_path / "out").exists()
