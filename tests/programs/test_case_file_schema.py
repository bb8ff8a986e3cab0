"""results/schema/case-file.schema.json and the program agree on what a case file may look like."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, ampgate
from jsonschema import Draft202012Validator

SCHEMA = Draft202012Validator(json.loads((ROOT / "results" / "schema" / "case-file.schema.json").read_text()))

X = {"tensor": {"shape": [3, 4], "fill": "normal"}}
RELU = {"ampgate_case": 1, "name": "mine", "operator": "aten::relu", "arguments": [X]}
CLAMP = {"operator": "aten::clamp_min", "arguments": [{"ref": "self"}, 0], "result": "y"}
CHAIN = {
    "ampgate_case": 1,
    "name": "chain",
    "tensors": {"x": {"shape": [4, 6], "fill": "normal", "requires_grad": True, "role": "weight"}},
    "operators": [
        {"operator": "aten::chunk", "arguments": [{"ref": "x"}, 2], "result": "parts"},
        {"operator": "aten::cat", "arguments": [{"ref": "parts"}, 1], "result": "wide"},
        {"operator": "aten::max.dim", "arguments": [{"ref": "wide"}, 1], "results": ["most", None]},
        {"operator": "aten::exp", "arguments": [{"ref": "parts", "item": 1}]},
    ],
    "outputs": ["most", {"name": "square", "value": {"ref": "wide"}}],
}
PACKAGES = {
    "ampgate_case": 1,
    "name": "packages",
    "baseline_package": "a.pt2",
    "trial_package": "b.pt2",
    "trial_precision": "cast-bf16",
    "inputs": {"x": {"shape": [2], "fill": "ones"}},
    "outputs": ["y"],
    "maximum_relative_error": 0.1,
}


def tensor(**members: Any) -> dict[str, Any]:  # noqa: ANN401
    return RELU | {"arguments": [{"tensor": members}]}


def step(**members: Any) -> dict[str, Any]:  # noqa: ANN401
    return CHAIN | {"operators": [*CHAIN["operators"], members]}


GOOD = [
    RELU | {"description": "words", "precisions": ["cast-bf16", "islands-fp16"], "flops": 12, "threads": [1, 2]},
    RELU | {"layouts": ["contiguous", "strided"], "outputs": ["y"], "reads": "nothing"},
    RELU | {"reduction_length": 3, "backward": False},
    RELU | {"reference": {"operators": [CLAMP], "outputs": ["y"]}},
    CHAIN | {"backward": True},
    tensor(shape=["2", 2], fill={"normal": {"scale": "0x1p-3", "mean": -1}}, name="x", layout="transposed"),
    tensor(shape=[], fill={"uniform": {"low": -1, "high": 1}}, type="bfloat16"),
    tensor(shape=[2, 0], fill={"constant": "-0.0"}),
    tensor(shape=[5], fill={"integers": {"high": 9}}, type="float32"),
    tensor(shape=[5], fill="arange"),
    tensor(values=[[1, "inf"], [True, "0x1.8p-3"]]),
    tensor(values=3.5),
    tensor(values=[1, 2, 3, 4], shape=[2, 2]),
    tensor(values=[1.5, -2]) | {"expected": {"out": {"values": [1.5, 0]}}},
    RELU | {"operator": "aten::sum.dim_IntList", "arguments": [X, [0]], "keywords": {"dtype": "float32"}},
    RELU | {"operator": "aten::clamp", "arguments": [X, None, "inf"]},
]

BAD = {
    "another version": RELU | {"ampgate_case": 2},
    "no version": {key: value for key, value in RELU.items() if key != "ampgate_case"},
    "capitals": RELU | {"name": "Mine"},
    "a dot in front": RELU | {"name": ".mine"},
    "a long name": RELU | {"name": "x" * 101},
    "an unknown member": RELU | {"operater": "aten::relu"},
    "no kind": {"ampgate_case": 1, "name": "mine"},
    "two kinds": CHAIN | {"operator": "aten::relu"},
    "an operator and a model": RELU | {"module": "model.pt", "inputs": {}},
    "two FP32 packages": PACKAGES | {"package": "c.pt2"},
    "a model and packages": PACKAGES | {"module": "model.pt"},
    "a package without a limit": {key: value for key, value in PACKAGES.items() if key != "maximum_relative_error"},
    "a package without a type": {key: value for key, value in PACKAGES.items() if key != "trial_precision"},
    "precisions of packages": PACKAGES | {"precisions": ["cast-bf16"]},
    "decisions of packages": PACKAGES | {"decisions": {"kind": "argmax"}},
    "a description that is no text": RELU | {"description": 5},
    "an unknown precision": RELU | {"precisions": ["fp16"]},
    "no precision": RELU | {"precisions": []},
    "no layout": RELU | {"layouts": []},
    "an unknown layout": RELU | {"layouts": ["diagonal"]},
    "a layout twice": RELU | {"layouts": ["strided", "strided"]},
    "no threads": RELU | {"threads": [0]},
    "backward in words": RELU | {"backward": "yes"},
    "negative work": RELU | {"flops": -1},
    "a length of nothing": RELU | {"reduction_length": 0},
    "a reference without outputs": RELU | {"reference": {"operators": [CLAMP]}},
    "a reference of nothing": RELU | {"reference": {"operators": [], "outputs": ["y"]}},
    "a reference that says more": RELU | {"reference": {"operators": [CLAMP], "outputs": ["y"], "backward": True}},
    "an operator without namespace": RELU | {"operator": "relu"},
    "arguments by name": RELU | {"arguments": {"self": X}},
    "an object that is no tensor": RELU | {"arguments": [{"shape": [3], "fill": "normal"}]},
    "a sequence without outputs": {key: value for key, value in CHAIN.items() if key != "outputs"},
    "no step": CHAIN | {"operators": []},
    "result and results": step(operator="aten::relu", arguments=[{"ref": "x"}], result="y", results=["z"]),
    "an unknown member of a step": step(operator="aten::relu", arguments=[{"ref": "x"}], output="y"),
    "a reference with more": step(operator="aten::relu", arguments=[{"ref": "x", "index": 0}]),
    "a named tensor with a name": CHAIN | {"tensors": {"x": {"shape": [4, 6], "fill": "normal", "name": "y"}}},
    "no values": tensor(shape=[3]),
    "values twice": tensor(shape=[3], fill="ones", values=[1, 2, 3]),
    "a fill without a shape": tensor(fill="ones"),
    "an unknown fill": tensor(shape=[3], fill="gauss"),
    "two fills": tensor(shape=[3], fill={"ones": {}, "zeros": {}}),
    "a fill's unknown member": tensor(shape=[3], fill={"normal": {"deviation": 1}}),
    "a scale of 0": tensor(shape=[3], fill={"normal": {"scale": 0}}),
    "an infinite scale": tensor(shape=[3], fill={"normal": {"scale": "inf"}}),
    "integers without an end": tensor(shape=[3], fill={"integers": {"low": 3}}),
    "a negative size": tensor(shape=[-1], fill="ones"),
    "a size in words": tensor(shape=["three"], fill="ones"),
    "an unknown type": tensor(shape=[3], fill="ones", type="half"),
    "an unknown role": tensor(shape=[3], fill="ones", role="bias"),
    "rows of a fill": tensor(shape=[3], fill="ones", rows=2),
    "a word among values": tensor(values=[1, "many"]),
    "a stored tensor without a name": tensor(file="data.safetensors"),
    "a stored tensor with a shape": tensor(file="data.safetensors", tensor="x", shape=[3]),
    "expected values that are drawn": tensor(values=[1]) | {"expected": {"out": {"shape": [1], "fill": "normal"}}},
}


def listed(folder: Path, case: dict[str, Any], number: int) -> int:
    """The program's exit code for a file with this case."""
    file = folder / f"{number}.json"
    file.write_text(json.dumps(case))
    return ampgate("list", "--case-file", file).code


def errors(case: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(case)]


def test_both_accept(tmp_path: Path) -> None:
    for number, case in enumerate(GOOD):
        assert errors(case) == []
        (tmp_path / f"{number}.json").write_text(json.dumps(case | {"name": f"case{number}"}))
    result = ampgate("list", "--case-file", tmp_path)
    assert result.code == 0, result.err


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Exit codes by the name of the bad case."""
    folder = tmp_path_factory.mktemp("bad")
    with ThreadPoolExecutor(2) as pool:
        codes = pool.map(lambda item: listed(folder, item[1], item[0]), enumerate(BAD.values()))
        return dict(zip(BAD, codes, strict=True))


@pytest.mark.parametrize("name", BAD)
def test_both_refuse(refusals: dict[str, int], name: str) -> None:
    assert errors(BAD[name]) != []
    assert refusals[name] == 2
