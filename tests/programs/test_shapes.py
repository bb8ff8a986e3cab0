"""Sizes of the user's own: --shape and --shapes, on the command line, in the plan, in the record."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from conftest import AMPGATE, ROOT, Result, ampgate, has_a_time, records
from jsonschema import Draft202012Validator

FAKE = ROOT / "tests" / "driver_fake" / "worker.py"

QUICK = {"measurement": {"processes": 1, "min_blocks": 20, "cell_time_ms": 1}}


def planned(*arguments: str | Path) -> Result:
    return ampgate("run", "--dry-run", "--device", "cpu", "--precision", "fp32", *arguments)


def ids(result: Result) -> list[str]:
    assert result.code == 0, result.err
    return [line for line in result.out.splitlines() if line.count("/") == 2]


@pytest.mark.parametrize(
    ("case", "given", "name"),
    [
        ("matmul", "48x32x16", "48x32x16"),
        ("matmul", "k=16,m=48,n=32", "48x32x16"),
        ("digits_classifier", "batch24", "batch24"),
        ("digits_classifier", "24", "batch24"),
        ("digits_classifier", "batch=24", "batch24"),
        ("exp", "7", "7"),
    ],
)
def test_ways_to_say_a_shape(case: str, given: str, name: str) -> None:
    assert ids(planned("--case", case, "--shape", given)) == [f"{case}/{name}/fp32"]


def test_order_duplicates_and_several_cases() -> None:
    result = planned(
        "--case", "softmax", "--case", "mean", "--shape", "9x5", "--shape", "3x5", "--shape", "rows=9,width=5"
    )
    assert ids(result) == [f"{case}/{shape}/fp32" for case in ("mean", "softmax") for shape in ("9x5", "3x5")]


def test_a_pattern_may_name_one_of_the_shapes() -> None:
    result = planned("--case", "mean/3x5", "--shape", "9x5", "--shape", "3x5")
    assert ids(result) == ["mean/3x5/fp32"]


def test_list_shows_them() -> None:
    result = ampgate("list", "--case", "mean", "--shape", "9x5")
    assert result.code == 0
    assert "9x5 (rows x width)" in result.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--case", "matmul", "--shape", "64x64"], ["--shape 64x64", "matmul has 3 sizes: m x n x k", "2 are given"]),
        (["--case", "matmul", "--shape", "0x4x4"], ["m = 0", "at least 1"]),
        (["--case", "matmul", "--shape", "4x-4x4"], ["n = -4", "at least 1"]),
        (["--case", "matmul", "--shape", "4x4xfour"], ["k = 'four'", "whole number"]),
        (["--case", "matmul", "--shape", "4x4x1e3"], ["k = '1e3'", "whole number"]),
        (["--case", "matmul", "--shape", "4xx4"], ["n = ''", "whole number"]),
        (["--case", "matmul", "--shape", "4x4x9999999999999999999"], ["k = 9999999999999999999", "64 bits"]),
        (["--case", "matmul", "--shape", "4000000000x4000000000x4"], ["product", "64 bits"]),
        (["--case", "matmul", "--shape", "m=4,n=4"], ["k is missing"]),
        (["--case", "matmul", "--shape", "m=4,n=4,k=4,m=5"], ["m is given twice"]),
        (["--case", "matmul", "--shape", "m=4,n=4,q=4"], ["'q=4'", "m x n x k"]),
        (["--case", "matmul", "--shape", "batch64"], ["3 sizes"]),
        (["--case", "digits_classifier", "--shape", "64x8x8"], ["1 size: batch", "trained weights"]),
        (["--case", "mean", "--case", "matmul", "--shape", "4x4"], ["matmul has 3 sizes", "every case"]),
        (["--case", "*", "--shape", "4x4"], ["every case"]),
        (["--case", "matmull", "--shape", "4x4x4"], ["no case", "'matmul'"]),
        (["--case", "matmul/5x5x5", "--shape", "4x4x4"], ["none of the shapes given"]),
        (["--shape", "4x4x4"], ["whose shape", "--case"]),
        (["--suite", "smoke", "--case", "matmul", "--shape", "4x4x4"], ["--suite", "exclude"]),
        (["--case", "matmul", "--shape", ""], ["must not be empty"]),
        (["--case", "transformer_block", "--shape", "1x4x33"], ["--shape 1x4x33", "multiple of 32"]),
        (["--case", "group_norm", "--shape", "1x6x2x2"], ["multiple of 4"]),
        (["--case", "conv2d", "--shape", "1x1x1x8x8x2"], ["odd"]),
        (["--case", "matmul", "--shape", "2000000x2000000x1000000"],
         ["matmul/2000000x2000000x1000000 is too large", "at least", "TiB", "are there"]),
        (["--case", "digits_classifier", "--shape", "batch999999999999"], ["too large", "TiB"]),
        (["--shapes", "nowhere.csv"], ["nowhere.csv", "cannot be read"]),
    ],
)  # fmt: skip
def test_shapes_that_cannot_be(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    result = ampgate("validate", "--device", "cpu", "--archive", tmp_path / "archive", *arguments)
    assert result.code == 2, result.out + result.err
    for word in words:
        assert word in result.err
    assert not (tmp_path / "archive").exists()


def csv(folder: Path, text: str) -> Path:
    file = folder / "sizes.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("case,shape\nmatmul,4x5x6\nmean,3x5\n", [], ["matmul/4x5x6", "mean/3x5"]),
        ("\ufeff# sizes\r\n\r\n case , shape\r\nmatmul,\"m=4,n=5,k=6\"\r\n", [], ["matmul/4x5x6"]),
        ("k,case,n,m\n6,matmul,5,4\n6,matmul,5,4\n", [], ["matmul/4x5x6"]),
        ("case,m,n,k,rows,width\nmatmul,4,5,6,,\nmean,,,,3,5\n", [], ["matmul/4x5x6", "mean/3x5"]),
        ("case,shape\nmatmul,4x5x6\nmean,3x5\n", ["--case", "mean"], ["mean/3x5"]),
        ("shape\n3x5\n4x5\n", ["--case", "mean"], ["mean/3x5", "mean/4x5"]),
        ("case,shape\nmean,3x5\n", ["--case", "mean", "--shape", "3x5", "--shape", "9x5"], ["mean/3x5", "mean/9x5"]),
    ],
)  # fmt: skip
def test_files_of_shapes(text: str, arguments: list[str], expected: list[str], tmp_path: Path) -> None:
    assert ids(planned("--shapes", csv(tmp_path, text), *arguments)) == [f"{shape}/fp32" for shape in expected]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["sizes.csv", "no header"]),
        ("# nothing\n", ["no header"]),
        ("case,shape\n", ["holds no shape"]),
        ("case,shap\nmatmul,4x5x6\n", ["sizes.csv:1:", "'shap'", "'shape'"]),
        ("case,shape\n\nmatmull,4x5x6\n", ["sizes.csv:3:", "'matmul'"]),
        ("case,shape\nmatmul,4x5\n", ["sizes.csv:2:", "3 sizes"]),
        ("case,shape\nmatmul\n", ["sizes.csv:2:", "1 cells below a header of 2"]),
        ("case,m,n,k\nmatmul,4,,6\n", ["sizes.csv:2:", "n is missing"]),
        ("case,m,n,k\nmatmul,4,0,6\n", ["sizes.csv:2:", "n = 0"]),
        ("case,m,rows\nmean,4,3\n", ["sizes.csv:2:", "'m=4'"]),
        ("case,shape,m\nmatmul,4x5x6,4\n", ["sizes.csv:1:", "one of the two"]),
        ("case,m,m\nmatmul,4,4\n", ["sizes.csv:1:", "twice"]),
        ("shape\n4x5\n", ["sizes.csv:1:", "no column 'case'"]),
        ('case,shape\nmatmul,"4x5x6\n', ["sizes.csv:2:", "quotation mark"]),
        ("case,shape\nconv2d,1x1x1x8x8x2\n", ["sizes.csv:2:", "odd"]),
    ],
)
def test_files_that_cannot_be_used(text: str, words: list[str], tmp_path: Path) -> None:
    result = ampgate("validate", "--device", "cpu", "--shapes", csv(tmp_path, text), "--archive", tmp_path / "archive")
    assert result.code == 2, result.out + result.err
    for word in words:
        assert word in result.err
    assert not (tmp_path / "archive").exists()


def test_run_record_reproducer_bench_and_reproduce(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(QUICK))
    result = ampgate(
        "run", "--device", "cpu", "--case", "matmul", "--shape", "k=16,m=48,n=32", "--precision", "cast-bf16",
        "--rules", rules, "--archive", tmp_path / "a",
    )  # fmt: skip
    assert result.fine, result.out + result.err
    (path,) = records(tmp_path / "a")
    record = json.loads(path.read_text())
    assert record["plan"]["suite"] == "own"
    assert record["plan"]["selection"]["shapes"] == [
        {"case": "matmul", "shape": "48x32x16", "from": "--shape k=16,m=48,n=32"}
    ]
    last = record["trials"][-1]
    assert last["id"] == "matmul/48x32x16/cast-bf16"
    assert last["shape"]["dims"] == {"m": 48, "n": 32, "k": 16}
    assert last["facts"] == {"flops": 2 * 48 * 32 * 16, "bytes": 2 * (48 * 16 + 16 * 32 + 48 * 32), "meaning": "values"}

    program, *arguments = shlex.split(last["reproducer"])
    assert program == AMPGATE.name
    again = ampgate(*arguments, "--archive", tmp_path / "b", "--json")
    assert again.code == 0, again.err
    assert again.json()["trials"][-1]["evidence"]["outputs"] == last["evidence"]["outputs"]

    assert ampgate("bench", "--evidence", path, "--archive", tmp_path / "c").fine
    (measured,) = records(tmp_path / "c")
    assert has_a_time(json.loads(measured.read_text())["trials"][-1])
    assert ampgate("reproduce", path, last["id"]).code == 0


@pytest.fixture
def fake(fake_worker: Path) -> Path:
    return fake_worker


def sweep(fake: Path, archive: Path, *arguments: str | Path, growth: dict | None = None, do: object = ()) -> Result:
    requests = [{"phase": phase, "id": trial, "do": what} for phase, trial, what in do]
    env = {"FAKE_WORKER": json.dumps(requests), "FAKE_GROWTH": json.dumps(growth or {})}
    return ampgate("run", "--worker", fake, "--archive", archive, "--case", "matmul", *arguments, env=env)


def sections(archive: Path) -> tuple[dict, dict[str, dict]]:
    (path,) = records(archive)
    record = json.loads(path.read_text())
    schema = json.loads((ROOT / "results" / "schema" / "record.schema.json").read_text())
    errors = Draft202012Validator(schema).iter_errors(record)
    assert not [f"{error.json_path}: {error.message}" for error in errors]
    (of_case,) = record["sweep"]["cases"]
    return record, {section["precision"]: section for section in of_case["precisions"]}


GROWTH = {"fp32": 2.0, "cast-fp16": 1.5, "cast-bf16": 2.5, "autocast-bf16": 1.0, "autocast-fp16": 2.0}


def test_sweep_says_how_time_and_memory_grow_and_where_16_bit_pays(fake: Path, tmp_path: Path) -> None:
    result = sweep(fake, tmp_path, "--sweep", "m=1:64:4", "--shape", "1x5x6", growth=GROWTH)
    assert result.code == 0, result.out + result.err
    record, by_precision = sections(tmp_path)
    assert [trial["shape"]["dims"] for trial in record["trials"][::5]] == [
        {"m": m, "n": 5, "k": 6} for m in (1, 4, 16, 64)
    ]
    for precision, exponent in GROWTH.items():
        found = by_precision[precision]["time_exponent"]
        assert found["value"] == pytest.approx(exponent, abs=0.02)
        assert found["interval"][0] <= found["value"] <= found["interval"][1]
        assert by_precision[precision]["sizes"] == [1, 4, 16, 64]
        assert by_precision[precision]["memory_exponent"] == pytest.approx(1.0)
        assert by_precision[precision]["time_largest_deviation"] < 1.02
    # By hand, at m = 1, 4, 16, 64: fp32 62, 1000, 16000, 256000 ns; cast-fp16 50, 400, 3200, 25600.
    assert by_precision["cast-fp16"]["pays"]["where"] == "always"
    # 28, 900, 28800, 921600: faster at 1 and 4 alone.
    assert by_precision["cast-bf16"]["pays"] == {"where": "up-to", "size": 4, "shape": "4x5x6"}
    # 200, 800, 3200, 12800.
    assert by_precision["autocast-bf16"]["pays"] == {"where": "from", "size": 4, "shape": "4x5x6"}
    assert "pays" not in by_precision["fp32"]
    assert "Sweep over m" in result.out
    assert "autocast-bf16 pays from 4" in result.out


def test_sweep_predicts_what_fits(fake: Path, tmp_path: Path) -> None:
    assert sweep(fake, tmp_path, "--sweep", "m=64:256", "--shape", "1x4x1", growth=GROWTH).code == 0
    record, by_precision = sections(tmp_path)
    largest = by_precision["fp32"]["largest_that_fits"]
    available = record["sweep"]["available_bytes"]
    # Tensors of 4 (m + 4) bytes and outputs of 16 m bytes, which are the call's peak.
    assert largest["needed_bytes"] == 20 * largest["size"] + 16
    assert largest["needed_bytes"] <= available < 20 * 2 * largest["size"] + 16
    assert largest["predicted"] is True
    assert largest["at_least"] is False


def test_sweep_keeps_sizes_that_fail_or_cannot_be(fake: Path, tmp_path: Path) -> None:
    result = sweep(
        fake, tmp_path, "--sweep", "m,k=13:208", growth=GROWTH,
        do=[("validate", "matmul/52x*/cast-fp16", "segv"), ("bench", "matmul/208x*/cast-bf16", "output-changed")],
    )  # fmt: skip
    assert result.code == 1
    record, by_precision = sections(tmp_path)
    left_out = [point for point in record["plan"]["sweep"]["points"] if "left_out" in point]
    assert [(point["size"], point["left_out"]) for point in left_out] == [(13, "case matmul: k must not be 13")]
    assert by_precision["fp32"]["sizes"] == [26, 52, 104, 208]
    assert by_precision["cast-fp16"]["sizes"] == [26, 104, 208]
    assert by_precision["cast-bf16"]["sizes"] == [26, 52, 104]
    without = {entry["trial"]: entry["verdict"] for entry in record["sweep"]["cases"][0]["without_time"]}
    assert without == {"matmul/52x8x52/cast-fp16": "crashed", "matmul/208x8x208/cast-bf16": "output-changed"}


def test_sweep_leaves_out_what_memory_cannot_hold(fake: Path, tmp_path: Path) -> None:
    result = sweep(fake, tmp_path, "--sweep", "m=1000:1000000000000000:1000", "--precision", "fp32", growth=GROWTH)
    assert result.code in (0, 1), result.err
    record, _ = sections(tmp_path)
    reasons = [point["left_out"] for point in record["plan"]["sweep"]["points"] if "left_out" in point]
    assert reasons
    assert all("memory" in reason for reason in reasons)


def test_a_measured_sweep_from_evidence_and_resumed(fake: Path, tmp_path: Path) -> None:
    assert sweep(fake, tmp_path / "a", "--sweep", "m=4:16", growth=GROWTH).code == 0
    (evidence,) = records(tmp_path / "a")
    result = ampgate(
        "bench", "--evidence", evidence, "--worker", fake, "--archive", tmp_path / "b",
        env={"FAKE_WORKER": "[]", "FAKE_GROWTH": json.dumps(GROWTH)},
    )  # fmt: skip
    assert result.code == 0, result.err
    assert sections(tmp_path / "b")[1]["fp32"]["time_exponent"]["value"] == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--case", "matmul", "--sweep", "m"], ["--sweep m", "no '='"]),
        (["--case", "matmul", "--sweep", "q=4:64"], ["no size 'q' but m, n, k"]),
        (["--case", "matmul", "--sweep", "m=64:64"], ["above the lower"]),
        (["--case", "matmul", "--sweep", "m=0:64"], ["lower end = 0"]),
        (["--case", "matmul", "--sweep", "m=4"], ["upper end"]),
        (["--case", "matmul", "--sweep", "m=4:64:1"], ["factor '1'"]),
        (["--case", "matmul", "--sweep", "m=4:64:nan"], ["factor 'nan'"]),
        (["--case", "matmul", "--sweep", "m=1:1000000:1.0001"], ["more than 64 sizes"]),
        (["--sweep", "m=4:64"], ["of which case"]),
        (["--case", "matmul", "--sweep", "m=4:64", "--shape", "4x4x4", "--shape", "5x5x5"], ["one --shape"]),
        (["--case", "matmul", "--sweep", "m=4:64", "--shape", "4x4"], ["--shape 4x4", "3 sizes"]),
        (["--case", "matmul", "--sweep", "m=4:64", "--suite", "smoke"], ["exclude"]),
        (["--case", "matmul", "--sweep", "m,m=4:64"], ["names 'm' twice"]),
        (["--case", "matmul", "--sweep", ",m=4:64"], ["one of the names is empty"]),
    ],
)
def test_sweeps_that_cannot_be(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    result = ampgate("run", "--device", "cpu", "--archive", tmp_path / "archive", *arguments)
    assert result.code == 2, result.out + result.err
    for word in words:
        assert word in result.err
    assert not (tmp_path / "archive").exists()


def test_a_sweep_needs_measuring() -> None:
    result = ampgate("validate", "--case", "matmul", "--sweep", "m=4:64")
    assert result.code == 2
    assert "ampgate run --sweep" in result.err


def test_a_sweep_by_the_real_workers(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(QUICK))
    result = ampgate(
        "run", "--device", "cpu", "--case", "exp", "--sweep", "all=256:4096:4", "--precision", "cast-bf16",
        "--rules", rules, "--archive", tmp_path / "a",
    )  # fmt: skip
    assert result.fine, result.out + result.err
    _, by_precision = sections(tmp_path / "a")
    assert by_precision["cast-bf16"]["sizes"] == [256, 1024, 4096]
    assert by_precision["cast-bf16"]["memory_exponent"] > 0.5
