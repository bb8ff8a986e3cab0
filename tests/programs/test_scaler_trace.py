"""The gradient scaler does to the last bit what torch.amp.GradScaler does, and bad sequences are refused."""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_scaler
from conftest import BUILD, ROOT
from jsonschema import Draft202012Validator
from scaler_sequences import random_sequence

(VALIDATE,) = BUILD.glob("libexec/ampgate/torch-*/ampgate-validate")


def scaler_trace(*files: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [VALIDATE, "scaler-trace", *map(str, files)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=600)


def traces(sequences: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    files = []
    for number, sequence in enumerate(sequences):
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps(sequence, allow_nan=False))
    done = scaler_trace(*files)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def with_bits(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace with every floating-point number as its bits."""

    def bits(text: str | None) -> str | None:
        assert text is None or isinstance(text, str)
        return None if text is None else float(text).hex()

    for entry in trace["trace"]:
        entry["scale"] = bits(entry["scale"])
        for gradient in (one for owned in entry.get("gradients", []) for one in owned if one is not None):
            gradient["values"] = [bits(value) for value in gradient["values"]]
    for key in ("scale", "growth_factor", "backoff_factor"):
        if key in trace["state"]:
            trace["state"][key] = bits(trace["state"][key])
    return trace


def check_parity(seeds: range, folder: Path) -> Counter[str]:
    """Plays each seed's sequence through both; returns what was reached."""
    sequences = [random_sequence(seed) for seed in seeds]
    ours = traces(sequences, folder)
    assert len(ours) == len(sequences)
    reached: Counter[str] = Counter()
    for seed, sequence, trace in zip(seeds, sequences, ours, strict=True):
        player = torch_scaler.Player(sequence)
        theirs = player.play()
        got = with_bits(trace)
        for number, (mine, expected) in enumerate(zip(got["trace"], theirs["trace"], strict=True)):
            assert mine == expected, f"seed {seed}, /ops/{number}: {sequence['ops'][number]}"
        assert got["state"] == theirs["state"], f"seed {seed}"
        reached += player.reached
    return reached


NOT_INITIALISED = (
    "Attempted {} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier "
    "in the iteration."
)
NOT_A_SCALE = (
    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with requires_grad=False."
)
ERRORS = [
    *(f"{name} raises: Attempting to unscale FP16 gradients." for name in ("unscale", "step")),
    "unscale raises: " + NOT_INITIALISED.format("unscale_"),
    "unscale raises: unscale_() has already been called on this optimizer since the last update().",
    "unscale raises: unscale_() is being called after step().",
    "step raises: " + NOT_INITIALISED.format("step"),
    "step raises: step() has already been called since the last update().",
    "step raises: No inf checks were recorded for this optimizer.",
    "closure raises: Closure use is not currently supported if GradScaler is enabled.",
    *(f"{name} raises: " + NOT_INITIALISED.format("update") for name in ("update", "number", "int", "tensor")),
    "update raises: No inf checks were recorded prior to update.",
    "number raises: value cannot be converted to type float without overflow",
    "int raises: 'int' object has no attribute 'device'",
    "tensor raises: " + NOT_A_SCALE,
    "tensor raises: output with shape [] doesn't match the broadcast shape [1]",
    "scale raises: value cannot be converted to type float without overflow",
    "scale raises: value cannot be converted to type int without overflow",
    "step raises: " + NOT_INITIALISED.format("step").replace("_scale is", "_growth_tracker is"),
    "load raises: The source state dict is empty, possibly because it was saved from a disabled instance of "
    "GradScaler.",
    "load raises: value cannot be converted to type float without overflow",
    "load raises: value cannot be converted to type int without overflow",
    *(
        f"load raises: The source state dict has no '{key}'."
        for key in ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
    ),
]
CALLS = ["scale", "gradients", "unscale", "step", "closure", "update", "number", "int", "tensor", "save", "load"]
OUTCOMES = ["stepped", "skipped", "tracker counts, same scale"]
OUTCOMES += [f"tracker is 0, {scale} scale" for scale in ("larger", "smaller", "same")]
GRADIENTS = ["missing", "duplicates", "inf", "-inf", "nan", "subnormal float32", "subnormal bfloat16"]
GRADIENTS += [f"{layout} {dtype}" for layout in ("dense", "sparse") for dtype in torch_scaler.DTYPES]


def check_reached(reached: Counter[str]) -> None:
    calls = [f"{call} when {stage}" for call in CALLS for stage in [*torch_scaler.STAGES, "disabled"]]
    assert [what for what in [*ERRORS, *calls, *OUTCOMES, *GRADIENTS] if reached[what] == 0] == []


def test_parity_with_pytorch(tmp_path: Path) -> None:
    check_reached(check_parity(range(600), tmp_path))


@pytest.mark.deep
@pytest.mark.parametrize("chunk", range(1, 31))
def test_parity_of_many_sequences(chunk: int, tmp_path: Path) -> None:
    check_parity(range(1000 * chunk, 1000 * chunk + 1000), tmp_path)


def schema_errors(name: str, documents: list[Any]) -> list[str]:
    schema = json.loads((ROOT / "results" / "schema" / f"{name}.schema.json").read_text())
    validator = Draft202012Validator(schema)
    return [
        f"{error.json_path}: {error.message}" for document in documents for error in validator.iter_errors(document)
    ]


def test_sequences_and_traces_fit_their_schemas(tmp_path: Path) -> None:
    sequences = [random_sequence(seed) for seed in range(40)]
    assert schema_errors("scaler-sequence", sequences) == []
    printed = traces(sequences, tmp_path)
    assert schema_errors("scaler-trace", printed) == []
    assert schema_errors("scaler-sequence", [{"parameters": [], "ops": [["unscal", 0]]}]) != []
    del next(entry for trace in printed for entry in trace["trace"] if entry["op"] == "step")["stepped"]
    assert schema_errors("scaler-trace", printed) != []


def test_the_documented_trace_is_what_is_printed() -> None:
    text = (ROOT / "docs" / "scaler-trace.md").read_text()
    sequence = re.search(r"^\$ echo '(.*)' > sequence.json$", text, re.MULTILINE)
    documented = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    done = scaler_trace("-", text=sequence[1])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(documented[1])


def test_printed_gradients_and_states_can_be_read_again(tmp_path: Path) -> None:
    sequence = next(s for s in map(random_sequence, range(100)) if s["scaler"]["enabled"])
    (trace,) = traces([sequence], tmp_path)
    printed = [entry["gradients"] for entry in trace["trace"] if "gradients" in entry]
    sequence["ops"] = [["gradients", gradients] for gradients in printed] + [["unscale", 0], ["load", trace["state"]]]
    (again,) = traces([sequence], tmp_path)
    assert again["trace"][-2]["gradients"] == printed[-1]
    assert again["state"] == trace["state"]


def test_traces_before_a_bad_file_are_printed(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text('{"parameters": [], "ops": [["scale"]]}')
    bad.write_text('{"parameters": [], "ops": [["scale"], ["step", 0]]}')
    done = scaler_trace(good, bad, good)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1
    assert f"ampgate-validate: {bad}#/ops/1: there is no optimizer" in done.stderr
    assert "docs/scaler-trace.md" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "standard input: empty"),
        ('{"parameters": [], "ops": [', "standard input:1:"),
        ('{"parameters": [], "ops": [["update", NaN]]}', "standard input:1:"),
        ('{"parameters": [], "ops": [], "ops": []}', "duplicate key"),
        ('{"parameters": [], "ops": []} x', "standard input:1:"),
        ('{"parameters": [], "ops": [["update", "1,5"]]}', "standard input#/ops/0/1: must be a number"),
    ],
)
def test_bad_text(text: str, words: str) -> None:
    done = scaler_trace("-", text=text)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""


def documented_recorder() -> type[torch.amp.GradScaler]:
    """The class of docs/scaler-trace.md, as it stands there."""
    text = (ROOT / "docs" / "scaler-trace.md").read_text()
    source = re.search(r"```python\n(import json, torch\n.*?)\nmodel = ", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(source[1], names)
    return names["Recorder"]


def drive(
    scaler: torch.amp.GradScaler, optimizers: list[torch.optim.Optimizer], draw: random.Random, seen: list[Any]
) -> None:
    """Random calls of everything that a scaler offers, wrong ones among them; what the scaler was after each step."""
    saved = scaler.state_dict()
    for _ in range(60):
        for optimizer in optimizers:
            for parameter in optimizer.param_groups[0]["params"]:
                parameter.grad = torch.full_like(parameter, draw.choice([1.0, 3.0, math.inf, math.nan]))
        calls = [
            lambda: scaler.scale(torch.ones(())),
            lambda: scaler.unscale_(draw.choice(optimizers)),
            lambda: scaler.step(draw.choice(optimizers)),
            lambda: scaler.step(draw.choice(optimizers), closure=lambda: None),
            lambda: scaler.update(draw.choice([None, None, 512.0, 3, torch.tensor(64.0), torch.tensor([8.0])])),
            lambda: scaler.load_state_dict(saved | {"scale": draw.choice([4.0, 2.0**30])}),
            lambda: scaler.set_growth_factor(draw.choice([2.0, 4.0])),
            lambda: scaler.set_backoff_factor(draw.choice([0.5, 0.25])),
            lambda: scaler.set_growth_interval(draw.choice([1, 2, 3])),
        ]
        before = len(scaler.ops)
        with contextlib.suppress(RuntimeError, AssertionError, AttributeError, ValueError):
            draw.choice(calls)()
        seen += [None] * (len(scaler.ops) - before - 1) + [(scaler.get_scale(), scaler._get_growth_tracker())]


@pytest.mark.parametrize("seed", range(20))
def test_the_documented_recorder_records_everything(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    optimizers = [torch.optim.SGD([torch.nn.Parameter(torch.zeros(2))], lr=0.1, fused=False) for _ in range(2)]
    scaler = documented_recorder()("cpu", optimizers, init_scale=2.0**20, growth_interval=2)
    seen: list[Any] = []
    drive(scaler, optimizers, draw, seen)
    scaler.save(tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    assert schema_errors("scaler-sequence", [document]) == []
    done = scaler_trace(tmp_path / "run.json")
    assert done.returncode == 0, done.stderr
    trace = json.loads(done.stdout)
    assert len(trace["trace"]) == len(seen)
    for number, (entry, expected) in enumerate(zip(trace["trace"], seen, strict=True)):
        if expected is None or entry["scale"] is None:
            continue
        assert (float(entry["scale"]), int(entry["growth_tracker"])) == expected, f"/ops/{number}: {entry}"
    assert float(trace["state"]["growth_factor"]) == scaler.get_growth_factor()
    assert int(trace["state"]["growth_interval"]) == scaler.get_growth_interval()


def test_pipes_are_read_and_folders_are_not(tmp_path: Path) -> None:
    text = '{"parameters": [[]], "ops": [["scale"], ["set_growth_interval", 2.0]]}'
    piped = scaler_trace("/dev/stdin", text=text)
    assert piped.returncode == 0, piped.stderr
    assert json.loads(piped.stdout)["state"]["growth_interval"] == "2", "as the schema has it: 2.0 is an integer"
    folder = scaler_trace(tmp_path)
    assert folder.returncode == 2
    assert f"{tmp_path}: is a folder" in folder.stderr
    told = scaler_trace("--help")
    assert told.returncode == 0
    assert "scaler-trace FILE" in told.stdout


@pytest.mark.parametrize(("files", "words"), [(["/nonexistent.json"], "/nonexistent.json"), ([], "usage")])
def test_bad_usage(files: list[str], words: str) -> None:
    done = scaler_trace(*files)
    assert done.returncode == 2
    assert words in done.stderr
