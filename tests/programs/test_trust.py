"""Every number is that of the samples: in the record, in the printed tables, and in a comparison.

The numbers are computed a second time in Python (estimates.py, recomputed.py) from the samples that a record keeps, and
what was printed is read back (printed.py, shown_numbers.py).
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import TEST_WORKER, ampgate, records
from estimates import differences_in_turns, hodges_lehmann, signed_rank_rejects, warm_cells, welch_ratio
from recomputed import numbers_of
from shown_numbers import shown_numbers
from test_compare import compare

MODES = ("--cold", "--latency", "--sustained", "--default-malloc")
NOISE = [("matmul/*", "noisy"), ("bmm/*", "noisy")]
DISTURBED = "bmm/*/cast-fp16"
RULES = {
    "measurement": {"sustained_s": 1},
    "trial_limit_s": 60,
    "training": {"updates": 20, "seeds": 3, "max_rmse_ratio": 2},
}


class Run(NamedTuple):
    record: dict[str, Any]
    printed: str


# With a worker in Python, whose processes differ by tens of percent.
FAKED: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "all modes": ([*MODES], NOISE),
    "one process": (["--processes", "1", "--latency"], NOISE),
    "many processes": (["--processes", "8", "--latency"], NOISE),
    "until a width": (["--case", "matmul", "--width", "0.1", "--budget-s", "4"], NOISE),
    "some blocks disturbed": (["--cold"], [(DISTURBED, "disturb-2"), *NOISE]),
    "too many disturbed": (["--latency"], [(DISTURBED, "disturb-99"), *NOISE]),
    "ceilings": (["--suite", "standard"], NOISE),
}
# With LibTorch.
REAL: dict[str, list[str | Path]] = {
    "an operator": ["--case", "softmax", "--latency"],
    "a training that skips steps": ["--worker", TEST_WORKER, "--case", "train_misbehave", "--latency"],
    "a sustained operator": ["--case", "matmul", "--sustained", "--cold"],
    "models": ["--case", "mlp_regressor", "--case", "digits_classifier"],
}
LONG = ("a sustained operator", "models")
USUAL = [name for name in (*FAKED, *REAL) if name not in LONG]
EACH = [*USUAL, *(pytest.param(name, marks=pytest.mark.deep) for name in LONG)]


@pytest.fixture(scope="module")
def runs(fake_worker: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Made when they are first asked for."""
    folder = tmp_path_factory.mktemp("trust")
    (folder / "rules.json").write_text(json.dumps(RULES))

    class Runs(dict[str, Run]):
        def __missing__(self, name: str) -> Run:
            archive = folder / name
            arguments = ["--rules", folder / "rules.json", "--archive", archive]
            if name in FAKED:
                options, requests = FAKED[name]
                asked = [{"phase": "bench", "id": trial, "do": what} for trial, what in requests]
                env = {"FAKE_WORKER": json.dumps(asked)}
                suite = [] if "--suite" in options else ["--suite", "smoke"]
                result = ampgate("run", *suite, *options, "--worker", fake_worker, *arguments, env=env)
            else:
                result = ampgate("run", "--suite", "smoke", *REAL[name], *arguments)
            (path,) = records(archive)
            self[name] = Run(json.loads(path.read_text()), result.out)
            return self[name]

    return Runs()


@pytest.mark.parametrize("name", EACH)
def test_the_record_says_what_its_samples_give(runs: dict[str, Run], name: str) -> None:
    numbers = list(numbers_of(runs[name].record))
    assert len(numbers) > 20
    wrong = [number for number in numbers if not number.agrees()]
    assert not wrong, f"{len(wrong)} of {len(numbers)} numbers are others: {wrong[:5]}"


@pytest.mark.parametrize("name", EACH)
def test_the_tables_show_what_the_record_says(runs: dict[str, Run], name: str) -> None:
    shown = list(shown_numbers(*runs[name]))
    assert len(shown) > 20
    wrong = [cell for cell in shown if not cell.agrees()]
    assert not wrong, f"{len(wrong)} of {len(shown)} cells show something else: {wrong[:5]}"


def kinds_in(record: dict[str, Any]) -> set[str]:
    """What the numbers are of, without the names of trials."""
    return {number.where.split(" ", 1)[1] for number in numbers_of(record)}


def test_nothing_was_passed_over(runs: dict[str, Run]) -> None:
    """The runs together hold each kind of number, so that the tests above have looked at it."""
    kinds = set().union(*(kinds_in(runs[name].record) for name in USUAL))
    for wanted in (
        "warm time_ns median", "warm time_ns mad", "warm time_ns interval", "warm time_ns drift_per_block",
        "warm speedup_over_fp32 value", "warm speedup_over_fp32 interval", "warm fp16_to_bf16 mad",
        "latency p50_ns value", "latency p50_ns interval", "sustained steady", "sustained speedup_over_fp32 value",
        "warm tflops interval", "warm tflops share", "warm roof share", "warm overhead", "warm blocks left out",
        "warm update speedup_over_fp32 value", "warm time_per_applied_update_ns interval", "cold time_ns median",
    ):  # fmt: skip
        assert wanted in kinds
    looks = [trial["measurement"]["looks"] for trial in runs["until a width"].record["trials"]]
    assert max(looks) > 1
    assert any(trial["measurement"]["disturbed"]["left_out"] for trial in runs["some blocks disturbed"].record["trials"]
               if "disturbed" in trial["measurement"])  # fmt: skip
    training = [trial["measurement"]["training"] for trial in runs["a training that skips steps"].record["trials"]]
    assert any(steps["applied_updates"] < steps["iterations"] for steps in training)


CHANGED = ["median", "interval", "mad", "samples", "processes", "level", "drift_per_block"]


@pytest.mark.parametrize("key", CHANGED)
@pytest.mark.parametrize("estimate", ["time_ns", "speedup_over_fp32", "fp16_to_bf16"])
def test_another_number_would_be_found(runs: dict[str, Run], estimate: str, key: str) -> None:
    record = copy.deepcopy(runs["all modes"].record)
    (trial,) = (trial for trial in record["trials"] if trial["id"] == "matmul/4x5x6/cast-fp16")
    said = trial["measurement"][estimate]
    name = "value" if key == "median" and estimate != "time_ns" else key
    said[name] = [said[name][0], 1.000001 * said[name][1]] if name == "interval" else 1.000001 * said[name]
    wrong = [number.where for number in numbers_of(record) if not number.agrees()]
    assert wrong
    assert all(place.startswith(f"{trial['id']} warm ") for place in wrong)


def test_another_sample_would_be_found(runs: dict[str, Run]) -> None:
    record = copy.deepcopy(runs["all modes"].record)
    (trial,) = (trial for trial in record["trials"] if trial["id"] == "matmul/4x5x6/fp32")
    trial["measurement"]["samples"][0][4] *= 1.2
    wrong = {number.where.split()[0] for number in numbers_of(record) if not number.agrees()}
    assert "matmul/4x5x6/fp32" in wrong
    assert "matmul/4x5x6/cast-bf16" in wrong  # its speed-up


def test_another_cell_would_be_found(runs: dict[str, Run]) -> None:
    record, printed = runs["all modes"]
    for trial in record["trials"]:
        changed = copy.deepcopy(record)
        (other,) = (of for of in changed["trials"] if of["id"] == trial["id"])
        other["measurement"]["time_ns"]["median"] *= 1.01
        assert any(not cell.agrees() for cell in shown_numbers(changed, printed)), trial["id"]


def slower(record: dict[str, Any], turns: str = "") -> dict[str, Any]:
    """The same run once more, where each process takes 5 to 12 % longer."""
    other = copy.deepcopy(record)
    other["id"] += "-slower"
    for trial in other["trials"]:
        for row in trial["measurement"]["samples"]:
            row[4] *= 1.05 + 0.01 * (row[0] % 8)
    for changed in (record, other):
        for process in changed["bench"]["processes"]:
            if turns:
                process["turn"] = {"series": turns, "number": 100 + process["process"]}
    return other


@pytest.fixture
def many(runs: dict[str, Run]) -> dict[str, Any]:
    """Eight processes that differ by some percent, in mode `warm` alone."""
    record = copy.deepcopy(runs["many processes"].record)
    chance = np.random.default_rng(1)
    for trial in record["trials"]:
        trial.pop("variants", None)
        for row in trial["measurement"]["samples"]:
            row[4] *= float(np.exp(0.01 * chance.standard_normal()))
    record["bench"]["processes"] = [of for of in record["bench"]["processes"] if of["mode"] == "warm"]
    return record


def sides(many: dict[str, Any], other: dict[str, Any], trial_id: str) -> list[Any]:
    (b,), (a,) = (
        [trial["measurement"] for trial in record["trials"] if trial["id"] == trial_id] for record in (other, many)
    )
    return [warm_cells(b), warm_cells(a)]


def verdict(limits: list[float], tolerance: float) -> str:
    low, high = limits
    if low > 1 + tolerance:
        return "slower"
    if high < 1 / (1 + tolerance):
        return "faster"
    return "same" if low >= 1 / (1 + tolerance) and high <= 1 + tolerance else "ambiguous"


def test_a_comparison(many: dict[str, Any], tmp_path: Path) -> None:
    other = slower(many)
    compared = compare(tmp_path, many, other, "--json").json()["trials"]
    assert len(compared) == len(many["trials"])
    for trial in compared:
        said = trial["time"]
        expected = welch_ratio(*sides(many, other, trial["id"]), said["level"])
        assert not said["in_turns"]
        assert said["level"] == pytest.approx(1 - 0.02 / len(compared))
        assert said["ratio"] == pytest.approx(expected["value"], rel=1e-9)
        assert said["interval"] == pytest.approx(expected["interval"], rel=1e-9)
        assert (said["samples"], said["processes"]) == (expected["samples"], expected["processes"])
        assert said["verdict"] == verdict(said["interval"], said["tolerance"])


def test_a_comparison_in_turns(many: dict[str, Any], tmp_path: Path) -> None:
    other = slower(many, turns="a")
    few = [trial for trial in many["trials"] if trial["id"] == "matmul/4x5x6/fp32"]
    for record in (many, other):
        record["trials"] = [trial for trial in record["trials"] if trial["id"] == few[0]["id"]]
    (trial,) = compare(tmp_path, many, other, "--json").json()["trials"]
    said = trial["time"]
    turns = {process["process"]: process["turn"]["number"] for process in many["bench"]["processes"]}
    differences = differences_in_turns(*sides(many, other, trial["id"]), turns)
    assert said["in_turns"]
    assert said["processes"] == 2 * len(differences) == 16
    assert said["level"] == pytest.approx(0.98)
    assert said["ratio"] == pytest.approx(hodges_lehmann(differences), rel=1e-9)
    low, high = said["interval"]
    for limit, inwards in ((low, 1 + 1e-7), (high, 1 - 1e-7)):
        assert not signed_rank_rejects(differences, limit * inwards, said["level"])
        assert signed_rank_rejects(differences, limit / inwards, said["level"])
    assert said["verdict"] == verdict(said["interval"], said["tolerance"]) == "slower"
