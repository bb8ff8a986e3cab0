"""Cases of the user's own from JSON: operators and sequences of them, what is refused, what the record keeps."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, Result, ampgate, has_a_time, records

QUICK = {"measurement": {"processes": 1, "min_blocks": 20, "cell_time_ms": 1}}

GELU = {
    "ampgate_case": 1,
    "name": "gelu-tanh",
    "operator": "aten::gelu",
    "arguments": [{"tensor": {"shape": [8, 1024], "fill": {"normal": {"scale": 1.0}}}}],
    "keywords": {"approximate": "tanh"},
    "precisions": ["cast-fp16", "cast-bf16"],
    "reduction_length": 1,
}


def normal(*shape: int) -> dict[str, Any]:
    return {"tensor": {"shape": list(shape), "fill": "normal"}}


def operator(op: str, *arguments: Any, **members: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"ampgate_case": 1, "name": "mine", "operator": op, "arguments": list(arguments), **members}


def write(folder: Path, *cases: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for case in cases:
        (folder / f"{case.get('name', 'case')}.json").write_text(json.dumps(case))
    return folder if len(cases) > 1 else folder / f"{cases[0].get('name', 'case')}.json"


def validate(tmp_path: Path, *cases: dict[str, Any], arguments: tuple[str | Path, ...] = ()) -> Result:
    file = write(tmp_path / "cases", *cases)
    return ampgate(
        "validate", "--device", "cpu", "--case-file", file, "--archive", tmp_path / "a", "--json", *arguments
    )


def trials(result: Result) -> dict[str, Any]:
    assert result.code in (0, 1), result.err
    return {trial["id"]: trial for trial in result.json()["trials"]}


def verdicts(result: Result) -> dict[str, str]:
    return {name: trial["verdict"] for name, trial in trials(result).items()}


def test_an_operator_by_its_family(tmp_path: Path) -> None:
    found = trials(validate(tmp_path, GELU))
    assert {name: trial["verdict"] for name, trial in found.items()} == {
        f"gelu-tanh/8x1024/{precision}": "pass" for precision in ("fp32", "cast-fp16", "cast-bf16")
    }
    accuracy = found["gelu-tanh/8x1024/cast-bf16"]["accuracy"]
    assert "gelu" in accuracy["kernel_error"]["criterion"]
    assert accuracy["every_value"]["type"] == "bfloat16"


@pytest.mark.parametrize(
    ("case", "criterion"),
    [
        (operator("aten::matmul", normal(33, 100), normal(100, 17)), "inner-product bound"),
        (
            operator("aten::addmm", normal(5), normal(4, 9), normal(9, 5), keywords={"alpha": 0.1}),
            "inner-product bound",
        ),
        (operator("aten::sum.dim_IntList", normal(7, 300), [1]), "sum"),
        (operator("aten::softmax.int", normal(7, 65), -1), "softmax"),
        (operator("aten::add.Tensor", normal(7, 65), normal(65), keywords={"alpha": 0.3}), "arithmetic"),
        (operator("aten::cosh", normal(70), reduction_length=1), "unary bound"),
        (operator("aten::lerp.Scalar", normal(70), normal(70), 0.25, reduction_length=3), "conditioning bound"),
        (operator("aten::lerp.Scalar", normal(70), normal(70), 0.25), "error ratio"),
    ],
)
def test_the_record_says_which_bound(tmp_path: Path, case: dict[str, Any], criterion: str) -> None:
    found = trials(validate(tmp_path, case))
    wanted = {"suspect"} if criterion == "error ratio" else {"pass"}
    for name, trial in found.items():
        assert criterion in trial["accuracy"]["kernel_error"]["criterion"], (name, trial["accuracy"]["kernel_error"])
        assert trial["verdict"] in wanted, (name, trial["reason"])


def test_an_overload_is_found_by_the_arguments(tmp_path: Path) -> None:
    found = trials(validate(tmp_path, operator("aten::add", normal(5), 2.5), arguments=("--precision", "cast-bf16")))
    assert found["mine/5/cast-bf16"]["operators"][0]["name"] == "aten::add"


def test_several_outputs_lists_and_integers(tmp_path: Path) -> None:
    topk = operator("aten::topk", normal(6, 40), 3, name="topk")
    chunk = operator("aten::chunk", normal(6, 40), 2, name="parts", outputs=["left", "right"])
    cat = operator("aten::cat", [normal(2, 3), normal(4, 3)], name="cat")
    index = operator(
        "aten::index.Tensor", normal(9, 4), [{"tensor": {"values": [1, 8, 0], "type": "int64"}}], name="index"
    )
    result = validate(tmp_path, topk, chunk, cat, index, arguments=("--precision", "cast-bf16"))
    found = trials(result)
    assert {name.split("/")[0] for name, trial in found.items() if trial["verdict"] == "pass"} >= {
        "cat",
        "index",
        "topk",
    }
    assert set(found["topk/6x40/fp32"]["evidence"]["outputs"]) == {"values", "indices"}
    # Both halves are the input's own memory: nothing is computed.
    assert "is the memory of" in found["parts/6x40/fp32"]["reason"], found["parts/6x40/fp32"]


def test_a_sequence_feeds_results_on(tmp_path: Path) -> None:
    # exp overflows FP16 from 11.09 on, and the quotient of two infinities is NaN.
    case = {
        "ampgate_case": 1,
        "name": "naive-softmax",
        "tensors": {"x": {"values": [[1.0, 2.0, 12.0], [0.5, -1.0, 3.0]]}},
        "operators": [
            {"operator": "aten::exp", "arguments": [{"ref": "x"}], "result": "e"},
            {"operator": "aten::sum.dim_IntList", "arguments": [{"ref": "e"}, [1], True], "result": "s"},
            {"operator": "aten::div.Tensor", "arguments": [{"ref": "e"}, {"ref": "s"}], "result": "p"},
        ],
        "outputs": ["p"],
    }
    found = trials(validate(tmp_path, case, arguments=("--precision", "cast-*")))
    assert found["naive-softmax/2x3/fp32"]["verdict"] == "pass"
    assert found["naive-softmax/2x3/cast-bf16"]["verdict"] == "pass", found["naive-softmax/2x3/cast-bf16"]["reason"]
    low = found["naive-softmax/2x3/cast-fp16"]
    assert low["verdict"] == "nonfinite", low["reason"]
    assert "aten::exp" in json.dumps(low["explanation"]), low["explanation"]


def test_backward_judges_gradients(tmp_path: Path) -> None:
    case = operator("aten::linear", normal(6, 20), normal(9, 20), normal(9), backward=True)
    found = trials(validate(tmp_path, case))
    for name, trial in found.items():
        if "islands" in name:
            continue
        assert trial["verdict"] == "pass", (name, trial["reason"])
        assert set(trial["evidence"]["outputs"]) == {"out", "grad.input", "grad.weight", "grad.bias"}
    names = [record["name"] for record in found["mine/6x20/fp32"]["operators"]]
    assert len(names) > 1, names


def test_expected_values_are_the_oracle(tmp_path: Path) -> None:
    exact = operator(
        "aten::relu", {"tensor": {"values": [1.5, -2, 0.25]}}, expected={"out": {"values": [1.5, 0, 0.25]}}
    )
    assert set(verdicts(validate(tmp_path, exact, arguments=("--precision", "cast-bf16"))).values()) == {"pass"}
    wrong = exact | {"expected": {"out": {"values": [1.5, 1, 0.25]}}}
    found = trials(validate(tmp_path, wrong, arguments=("--precision", "cast-bf16")))
    assert found["mine/3/fp32"]["verdict"] == "inaccurate"
    inexact = operator("aten::relu", {"tensor": {"values": [0.1]}}, expected={"out": {"values": [0.1]}})
    found = trials(validate(tmp_path, inexact, arguments=("--precision", "cast-bf16")))
    assert "rounded to others" in found["mine/1/cast-bf16"]["reason"]


def test_layouts_are_cases_of_their_own(tmp_path: Path) -> None:
    case = operator("aten::exp", normal(2, 3, 4, 5), layouts=["contiguous", "channels_last", "strided"])
    found = verdicts(validate(tmp_path, case, arguments=("--precision", "cast-bf16")))
    assert {name for name in found if name.endswith("fp32")} == {
        f"mine{layout}/2x3x4x5/fp32" for layout in ("", ".channels_last", ".strided")
    }
    assert set(found.values()) == {"pass"}


def test_run_measures_and_the_reproducer_line_reproduces(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(QUICK))
    file = write(tmp_path / "a folder", GELU)
    result = ampgate(
        "run", "--device", "cpu", "--threads", "1", "--case-file", file, "--rules", rules, "--archive", tmp_path / "a"
    )
    assert result.fine, result.out + result.err
    (path,) = records(tmp_path / "a")
    record = json.loads(path.read_text())
    (entry,) = record["plan"]["files"]["cases"]
    assert entry["path"] == str(file)
    assert entry["names"] == ["gelu-tanh"]
    for trial in record["trials"]:
        assert has_a_time(trial), trial["measurement"]
        line = shlex.split(trial["reproducer"])
        again = ampgate(*line[1:], "--archive", tmp_path / "b", "--quiet")
        assert again.code == 0, trial["reproducer"] + again.err

    # Nothing is loaded that the command line does not name.
    trial = record["trials"][1]["id"]
    for command in (("reproduce", path, trial), ("bench", "--evidence", path, "--archive", tmp_path / "c")):
        refused = ampgate(*command)
        assert refused.code == 2, refused.out
        assert f"--case-file '{file}'" in refused.err
    assert ampgate("reproduce", path, trial, "--case-file", file).code == 0
    measured = ampgate("bench", "--evidence", path, "--case-file", file, "--rules", rules, "--archive", tmp_path / "c")
    assert measured.fine, measured.err

    file.write_text(json.dumps(GELU | {"keywords": {"approximate": "none"}}))
    changed = ampgate("reproduce", path, trial, "--case-file", file)
    assert changed.code == 2
    assert "has changed since" in changed.err

    # The same name, another operator: no comparison of times would be fair.
    other = ampgate(
        "run", "--device", "cpu", "--threads", "1", "--case-file", file, "--rules", rules, "--archive", tmp_path / "d"
    )
    assert other.fine, other.err
    compared = ampgate("compare", path, records(tmp_path / "d")[0])
    assert compared.code == 5
    assert "/evidence/case_file" in compared.out + compared.err


BAD: list[tuple[Any, str]] = [
    ({"ampgate_case": 2, "name": "x"}, "version 2"),
    ({"ampgate_case": 1, "name": "No spaces"}, "a case's name consists of"),
    ({"ampgate_case": 1, "name": "matmul", "operator": "aten::relu", "arguments": [normal(2)]}, "already"),
    ({"ampgate_case": 1, "name": "x"}, '"operator"'),
    (operator("aten::gellu", normal(3)), "did you mean aten::gelu"),
    (operator("mine::gelu", normal(3)), "--load-library"),
    (operator("aten::sum.dim", normal(3), [0]), "sum.dim_IntList"),
    (operator("aten::add", normal(3), "x", 5, 6), "no overload of aten::add"),
    (operator("aten::softmax.int", normal(3)), "argument 1 'dim' (int) of aten::softmax.int is missing"),
    (operator("aten::softmax.int", normal(3), "x"), "argument 1 'dim' of aten::softmax.int must be int"),
    (operator("aten::softmax.int", 3, 1), "argument 0 'self' of aten::softmax.int must be Tensor"),
    (operator("aten::gelu", normal(3), keywords={"aproximate": "tanh"}), "did you mean approximate"),
    (operator("aten::gelu", normal(3), normal(3)), "takes 1 arguments by position"),
    (operator("aten::gelu", {"ref": "y"}), "nothing before it is called 'y'"),
    (operator("aten::relu_", normal(3)), "writes to its argument 'self'"),
    (operator("aten::bernoulli", normal(3)), "draws random numbers"),
    (operator("aten::dropout", normal(3), 0.5, True), "draws random numbers"),
    (operator("aten::equal", normal(3), normal(3)), "only tensors can be judged"),
    (operator("aten::relu", {"tensor": {"shape": [1 << 40, 1 << 40], "fill": "normal"}}), "beyond 64 bits"),
    (operator("aten::relu", {"tensor": {"shape": [1 << 20, 1 << 20], "fill": "normal"}}), "too large"),
    (operator("aten::add.Tensor", normal(1 << 20, 1), normal(1, 1 << 20)), "too large"),
    (operator("aten::relu", {"tensor": {"shape": [2], "fill": "gauss"}}), "unknown fill"),
    (operator("aten::relu", {"tensor": {"shape": [-1], "fill": "normal"}}), "-1"),
    (operator("aten::relu", {"tensor": {"values": [[1, 2], [3]]}}), "must have 2 items"),
    (operator("aten::relu", {"tensor": {"values": [1.5], "type": "int64"}}), "which type int64 has not"),
    (operator("aten::relu", {"tensor": {"file": "gone.safetensors", "tensor": "x"}}), "there is no file"),
    (
        operator("aten::relu", {"tensor": {"shape": [2, 3], "fill": "normal", "layout": "channels_last"}}),
        "no such layout",
    ),
    (operator("aten::relu", normal(3), precision=["fp16"]), "did you mean precisions"),
    (operator("aten::relu", normal(3), precisions=["fp16"]), "unknown precision"),
    (operator("aten::chunk", normal(4), 2), "returns a list of tensors"),
    ({"ampgate_case": 1, "name": "x", "operators": [], "outputs": []}, "lists no operator"),
    (
        {
            "ampgate_case": 1,
            "name": "x",
            "operators": [{"operator": "aten::relu", "arguments": [normal(2)], "result": "y"}],
            "outputs": ["z"],
        },
        "nothing before it is called 'z'; did you mean y",
    ),
]


@pytest.mark.parametrize(("case", "text"), BAD, ids=[text[:40] for _, text in BAD])
def test_a_wrong_case_says_what_and_where(tmp_path: Path, case: dict[str, Any], text: str) -> None:
    file = write(tmp_path / "cases", case)
    result = ampgate("validate", "--device", "cpu", "--case-file", file, "--archive", tmp_path / "a")
    assert result.code == 2, result.out + result.err
    assert text in result.err, result.err
    assert str(file) in result.err or "case file of" in result.err, result.err
    assert not records(tmp_path / "a")


def test_files_that_are_no_case_files(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"ampgate_case": 1,')
    for file, text in (
        (broken, "broken.json"),
        (tmp_path / "gone.json", "is no file"),
        (AMPGATE, "ampgate"),
        (tmp_path, "broken.json"),
    ):
        result = ampgate("validate", "--device", "cpu", "--case-file", file, "--archive", tmp_path / "a")
        assert result.code == 2, result.out + result.err
        assert text in result.err
    twice = write(tmp_path / "cases", GELU)
    (tmp_path / "cases" / "again.json").write_text(twice.read_text())
    result = ampgate("list", "--case-file", tmp_path / "cases")
    assert result.code == 2
    assert "already" in result.err


def test_a_precision_without_a_kernel_is_unsupported(tmp_path: Path) -> None:
    # LibTorch's CPU build decomposes no matrix in 16 bit.
    case = operator("aten::linalg_cholesky", {"tensor": {"values": [[4, 1], [1, 3]]}})
    found = trials(validate(tmp_path, case, arguments=("--precision", "cast-fp16")))
    assert found["mine/2x2/cast-fp16"]["verdict"] == "unsupported", found["mine/2x2/cast-fp16"]["reason"]


def test_list_and_selection(tmp_path: Path) -> None:
    folder = write(tmp_path / "cases", GELU, operator("aten::relu", normal(3), name="other"))
    result = ampgate("list", "--case-file", folder)
    assert result.code == 0, result.err
    assert "gelu-tanh" in result.out
    assert "other" in result.out
    one = ampgate("run", "--dry-run", "--device", "cpu", "--case-file", folder, "--case", "oth*", "--precision", "fp32")
    assert one.code == 0, one.err
    assert "other/3/fp32" in one.out
    assert "gelu" not in one.out
    refused = ampgate("run", "--case-file", folder, "--suite", "smoke")
    assert refused.code == 2
    assert "exclude each other" in refused.err


def test_what_does_not_fit_into_memory_is_unsupported(tmp_path: Path) -> None:
    """Inputs and outputs would fit, their FP64 copies do not: refused, and nobody is killed for it."""
    file = write(tmp_path / "cases", operator("aten::relu", normal(1 << 26)))
    limited = ["prlimit", f"--data={1_500_000_000}", str(AMPGATE)]
    arguments = ["validate", "--device", "cpu", "--threads", "1", "--case-file", str(file), "--precision", "fp32"]
    done = subprocess.run(
        [*limited, *arguments, "--archive", str(tmp_path / "a"), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert trial["verdict"] == "unsupported", trial
    assert "more memory than there is" in trial["reason"]
