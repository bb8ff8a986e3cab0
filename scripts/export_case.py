"""Writes a case file, a TorchScript file and data for a torch.nn.Module, so that ampgate can judge it.

    scripts/export_case my_model.py:build --out FOLDER

runs `build()` of that file, which returns the arguments of `export_case` below as a dict. The same from Python, with
this folder on the path: `from export_case import export_case`. examples/from_pytorch/README.md explains both.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from case_export.error import ExportError
from case_export.quality import decision_rule, maximum_rmse, minimum_accuracy
from case_export.tensors import check_state, describe, named_inputs, same_bits, storable
from case_export.torchscript import Method, check_pure, in_eval_mode, quietly, run, said_by, to_torchscript
from safetensors.torch import load_file, save

if TYPE_CHECKING:
    from torch import Tensor, nn

NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]{0,99}")
MODULE = "exported_by_ampgate"  # what the user's file is called while it runs


@dataclass
class Exported:
    """Where the case file is, and what FP32 reached on the data: "accuracy", or "rmse"."""

    case_file: Path
    quality: dict[str, float]


def export_case(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    *,
    folder: str | Path,
    name: str,
    outputs: Sequence[str] | None = None,
    labels: Tensor | None = None,
    targets: Tensor | None = None,
    decisions: str | Mapping[str, Any] | None = None,
    of_output: str | None = None,
    method: Method = "trace",
    description: str = "",
    flops: float = 0,
) -> Exported:
    """Writes NAME.json, NAME.pt and NAME.safetensors of the module in eval mode to `folder`, and reads them back.

    `inputs` by the names of forward's arguments, with the rows that are to be judged and timed. With integer `labels`
    (one a decision) or `decisions` the outputs are scores, with `targets` (of the output's sizes) they are a
    regression, else values. `of_output` names the output that these are about, by default the first. `flops` of one
    run, a multiply-add as two; 0: the case file does not say, and no rate in FLOP/s is shown.
    Raises ExportError for what ampgate could not judge.
    """
    check_choices(name, method)
    tensors = named_inputs(module, inputs)
    check_state(module)
    with in_eval_mode(module):
        right = check_pure(module, tensors, [outputs] if isinstance(outputs, str) else outputs)
        names = list(right)
        script = to_torchscript(module, tensors, names, method)
    about = of_output or names[0]
    if about not in names:
        raise ExportError(f"no output is called {about!r}", f"the outputs: {', '.join(names)}")
    meaning, data, quality = meaning_of(right[about], about, labels, targets, decisions)
    for key in data:
        if key in tensors:
            raise ExportError(f"forward has an argument {key!r}, and the data are called so too", "rename the argument")

    def stored(key: str) -> dict[str, str]:
        return {"file": f"{name}.safetensors", "tensor": key}

    case: dict[str, Any] = {"ampgate_case": 1, "name": name}
    if description:
        case["description"] = description
    case |= {
        "module": f"{name}.pt",
        "inputs": {key: stored(key) for key in tensors},
        "outputs": names,
        "mode": "eval",
    }
    if flops:
        case["flops"] = flops
    if data:
        case["data"] = {key: stored(key) for key in data}
    return Exported(write(Path(folder), name, case | meaning, script, tensors | data, right), quality)


def check_choices(name: str, method: str) -> None:
    if not NAME.fullmatch(name):
        raise ExportError(f"{name!r} is no case's name", "use a-z, 0-9, '_', '.' and '-', no dot in front, at most 100")
    if method not in ("trace", "script"):
        raise ExportError(f"there is no method {method!r}", "known: trace, script")


def meaning_of(
    output: Tensor,
    name: str,
    labels: Tensor | None,
    targets: Tensor | None,
    decisions: str | Mapping[str, Any] | None,
) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, float]]:
    """What the case file says of the outputs' meaning, the data for it, and what FP32 reached."""
    if targets is not None:
        if labels is not None or decisions is not None:
            raise ExportError("targets are of a regression, labels and decisions of scores", "give one of them")
        right = storable("targets", targets)
        rmse, largest = maximum_rmse(output, right)
        meaning = {"meaning": "regression", "targets": "targets", "target_output": name}
        return meaning | {"maximum_rmse": largest}, {"targets": right}, {"rmse": rmse}
    if labels is None and decisions is None:
        return {"meaning": "values"}, {}, {}
    rule = decision_rule(decisions or "argmax")
    meaning = {"meaning": "scores", "decisions": {"output": name, **rule}}
    if labels is None:
        return meaning, {}, {}
    answers = storable("labels", labels)
    accuracy, least = minimum_accuracy(output, answers, rule)
    meaning["decisions"]["labels"] = "labels"
    return meaning | {"minimum_accuracy": least}, {"labels": answers}, {"accuracy": accuracy}


def write(
    folder: Path,
    name: str,
    case: dict[str, Any],
    script: torch.jit.ScriptModule,
    tensors: dict[str, Tensor],
    right: dict[str, Tensor],
) -> Path:
    """All three files or none: they are written aside, and moved once they were read back."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as aside:
            written = {suffix: Path(aside) / f"{name}.{suffix}" for suffix in ("pt", "safetensors", "json")}
            with quietly():
                torch.jit.save(script, written["pt"])
            written["safetensors"].write_bytes(save(tensors))
            written["json"].write_text(json.dumps(case, indent=2, allow_nan=False) + "\n")
            read_back(written, case, right)
            for path in written.values():
                path.replace(folder / path.name)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error}", "give another --out") from error
    return folder / f"{name}.json"


def read_back(written: Mapping[str, Path], case: Mapping[str, Any], right: dict[str, Tensor]) -> None:
    """What was written gives the module's own outputs, bit by bit."""
    stored = load_file(written["safetensors"])
    try:
        with quietly():
            script = torch.jit.load(written["pt"])
        outputs = run(script, {key: stored[key] for key in case["inputs"]}, case["outputs"])
    except Exception as error:
        problem = f"the TorchScript file fails where the module does not: {said_by(error)}"
        raise ExportError(problem, "try the other way: traced, or --script") from error
    for name, expected in right.items():
        if not same_bits(outputs[name], expected):
            raise ExportError(
                f"the TorchScript file gives another {name!r} than the module",
                "try the other way: traced, or --script",
            )


def build(where: str) -> dict[str, Any]:
    """What FUNCTION() of FILE.py returns. No other file is run but those that it imports."""
    file, _, function = where.rpartition(":")
    path = Path(file)
    if not file or not path.is_file():
        raise ExportError(f"{where!r} names no file and function", "write FILE.py:FUNCTION, as my_model.py:build")
    sys.path.append(str(path.resolve().parent))  # last: no file beside it takes the place of a package
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ExportError(f"{path} is no Python file", "its name must end in .py")
    program = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = program
    try:
        spec.loader.exec_module(program)
        make = getattr(program, function, None)
        if not callable(make):
            raise ExportError(f"{path} has no function {function!r}", "give one that returns a dict")
        made = make()
    except ExportError:
        raise
    except Exception as error:
        traceback.print_exc()
        raise ExportError(f"{function}() of {path} failed", "see the traceback above") from error
    if not isinstance(made, Mapping):
        raise ExportError(f"{function}() returns {describe(made)}", 'return a dict: {"module": ..., "inputs": {...}}')
    return dict(made)


def arguments_from(made: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    known = [key for key in export_case.__annotations__ if key not in ("folder", "return")]
    for key in made:
        if key not in known:
            raise ExportError(f"export_case has no argument {key!r}", f"known: {', '.join(known)}")
    for key in ("module", "inputs"):
        if key not in made:
            raise ExportError(f"the dict has no {key!r}", f"it may hold: {', '.join(known)}")
    if not isinstance(made["module"], torch.nn.Module):
        raise ExportError(f"the module is {describe(made['module'])}", "give a torch.nn.Module")
    stem = Path(options.build.rpartition(":")[0]).stem.lower()
    made["name"] = options.name or made.get("name", stem)
    if options.script:
        made["method"] = "script"
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="export_case", description=__doc__.splitlines()[0])
    parser.add_argument("build", metavar="FILE.py:FUNCTION", help="returns the arguments of export_case as a dict")
    parser.add_argument("--out", required=True, type=Path, help="the folder for the three files")
    parser.add_argument("--name", help="the case's name; default: the dict's, else the file's")
    parser.add_argument("--script", action="store_true", help="compile forward's source instead of tracing one call")
    options = parser.parse_args()
    try:
        exported = export_case(folder=options.out, **arguments_from(build(options.build), options))
    except ExportError as error:
        print(f"export_case: {error}", file=sys.stderr)
        return 2
    for what, value in exported.quality.items():
        print(f"FP32 reaches {what} {value:.6g} on these data")
    module = exported.case_file.with_suffix(".pt")
    print(f"Written: {exported.case_file}, and beside it the TorchScript file and the data. Judge it with")
    print(f"  scripts/ampgate run --case-file {exported.case_file} --load-library {module}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
