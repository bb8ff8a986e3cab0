"""Operators of the user's own from a library: what is right passes, what is wrong is refused with its reason."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, Result, ampgate, journals, records
from custom_ops import EXAMPLE, SOURCES, build_example, finish, start_compiling

QUICK = {"measurement": {"processes": 1, "min_blocks": 20, "cell_time_ms": 1}}
LOADING = ("CRASHES", "THROWS", "EXITS", "NEEDS_ANOTHER_LIBTORCH", "NEEDS_PYTHON", "NOTHING")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all libraries: the example's two, misfits, and those that cannot be loaded."""
    folder = tmp_path_factory.mktemp("libraries")
    compilers = [
        start_compiling(SOURCES / f"{name}.cpp", folder / f"lib{name}.so") for name in ("misfits", "replaces_gelu")
    ]
    finish(*(start_compiling(SOURCES / "loading.cpp", folder / f"lib{what}.so", f"-D{what}") for what in LOADING))
    finish(*compilers)
    built = build_example(folder / "example")
    for library in built.glob("*.so"):
        shutil.copy(library, folder)
    return folder


def validate(tmp_path: Path, *files: Path, library: Path | tuple[Path, ...], arguments: tuple[str, ...] = ()) -> Result:
    loaded = library if isinstance(library, tuple) else (library,)
    return ampgate(
        "validate", "--device", "cpu", "--archive", tmp_path / "a", "--json", *arguments,
        *(word for path in loaded for word in ("--load-library", path)),
        *(word for path in files for word in ("--case-file", path)),
    )  # fmt: skip


def trials(result: Result) -> dict[str, Any]:
    assert result.code in (0, 1), result.err
    return {trial["id"].split("/")[-1]: trial for trial in result.json()["trials"]}


def misfit(tmp_path: Path, operator: str, **members: Any) -> Path:  # noqa: ANN401
    case = {
        "ampgate_case": 1,
        "name": operator,
        "operator": f"misfit::{operator}",
        "arguments": [{"tensor": {"shape": [3, 17], "fill": "normal"}}],
        "reduction_length": 1,
        **members,
    }
    file = tmp_path / f"{case['name']}.json"
    file.write_text(json.dumps(case))
    return file


def by_case(result: Result) -> dict[str, dict[str, Any]]:
    """Trials by case and precision."""
    assert result.code in (0, 1), result.err
    found: dict[str, dict[str, Any]] = {}
    for trial in result.json()["trials"]:
        case, _, precision = trial["id"].split("/")
        found.setdefault(case, {})[precision] = trial
    return found


def smaller(tmp_path: Path, file: Path, columns: int = 200, reference: bool = True) -> Path:
    """The example's case in less time; 200 is no multiple of the tile either."""
    case = json.loads(file.read_text())
    x, bias = case["arguments"]
    x["tensor"]["shape"] = [12, columns]
    bias["tensor"]["shape"] = [columns]
    if "reduction_length" in case:
        case["reduction_length"] = columns
    if not reference:
        del case["reference"]
    changed = tmp_path / f"{columns}-{reference}-{file.name}"
    changed.write_text(json.dumps(case))
    return changed


def test_the_right_one_passes_in_every_precision(libraries: Path, tmp_path: Path) -> None:
    case = EXAMPLE / "bias_gelu_sum.json"
    for file in (case, smaller(tmp_path, case, reference=False)):
        found = trials(validate(tmp_path, file, library=libraries / "libbias_gelu_sum.so"))
        assert set(found) == {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}
        for name, trial in found.items():
            assert trial["verdict"] == "pass", (name, trial["reason"])
            assert trial["accuracy"]["kernel_error"]["criterion"] == "conditioning bound"
            assert trial["accuracy"]["surroundings"] == {"check": "guarded pages", "runs": 2, "right": True}
            # Nobody gave it a kernel for autocast.
            assert trial["not_lowered"] == name.startswith("autocast")


def test_gradients(libraries: Path, tmp_path: Path) -> None:
    file = EXAMPLE / "bias_gelu_sum_gradients.json"
    for reference in (True, False):
        given = smaller(tmp_path, file, reference=reference)
        found = trials(validate(tmp_path, given, library=libraries / "libbias_gelu_sum.so"))
        for name in ("fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"):
            assert found[name]["verdict"] == "pass", (name, found[name]["reason"])
            assert set(found[name]["evidence"]["outputs"]) == {"out", "grad.x", "grad.bias"}
        names = {record["name"] for record in found["cast-bf16"]["operators"]}
        assert {"example::bias_gelu_sum", "example::bias_gelu_sum_backward"} <= names


def test_sums_in_bf16(libraries: Path, tmp_path: Path) -> None:
    file = EXAMPLE / "wrong" / "sum_in_bf16.json"
    wrong = libraries / "libbias_gelu_sum_wrong.so"
    found = trials(validate(tmp_path, smaller(tmp_path, file), library=wrong))
    assert found["fp32"]["verdict"] == "inaccurate", found["fp32"]["reason"]
    assert "outside the conditioning bound" in found["fp32"]["reason"]
    assert {trial["verdict"] for name, trial in found.items() if name != "fp32"} == {"baseline-invalid"}
    # By itself in FP64, which is just as wrong.
    found = trials(validate(tmp_path, smaller(tmp_path, file, reference=False), library=wrong))
    assert {trial["verdict"] for trial in found.values()} == {"baseline-invalid"}
    assert "moves in steps in FP64" in found["fp32"]["reason"], found["fp32"]["reason"]


def test_sums_in_the_tensors_own_type(libraries: Path, tmp_path: Path) -> None:
    file = EXAMPLE / "wrong" / "sum_in_own_type.json"
    for reference in (True, False):
        given = smaller(tmp_path, file, reference=reference)
        found = trials(validate(tmp_path, given, library=libraries / "libbias_gelu_sum_wrong.so"))
        for name, trial in found.items():
            wanted = "inaccurate" if name.startswith("cast") else "pass"
            assert trial["verdict"] == wanted, (name, trial["reason"])


def test_reads_past_the_last_tile(libraries: Path, tmp_path: Path) -> None:
    file = EXAMPLE / "wrong" / "whole_tiles.json"
    wrong = libraries / "libbias_gelu_sum_wrong.so"
    found = trials(validate(tmp_path, smaller(tmp_path, file), library=wrong))
    assert found["fp32"]["verdict"] == "crashed", found["fp32"]["reason"]
    assert re.search(r"reads beyond the end of '(x|bias)' \(element 1 behind its last\)", found["fp32"]["reason"])
    found = trials(validate(tmp_path, smaller(tmp_path, file, reference=False), library=wrong))
    assert found["fp32"]["verdict"] == "baseline-invalid"
    assert "in FP64 it reads beyond the end of" in found["fp32"]["reason"], found["fp32"]["reason"]
    # Of a multiple of the tile nothing is read that is not there.
    found = trials(validate(tmp_path, smaller(tmp_path, file, columns=192), library=wrong))
    assert {trial["verdict"] for trial in found.values()} == {"pass"}


BEYOND = {
    "adds_behind": "reads beyond the end of 'x' (element 1 behind its last)",
    "ignores_behind": "reads beyond the end of 'x' (element 1 behind its last)",
    "ignores_before": "reads before the beginning of 'x' (element 1 before its first)",
    "writes_behind": "beyond the end of 'x' (element 1 behind its last)",
}
LOW = ("--precision", "cast-*")


def reference(operator: str, *more: Any) -> dict[str, Any]:  # noqa: ANN401
    step = {"operator": operator, "arguments": [{"ref": "x"}, *more], "result": "y"}
    return {"operators": [step], "outputs": ["y"]}


def test_reaching_beyond_a_tensor(libraries: Path, tmp_path: Path) -> None:
    files = [misfit(tmp_path, name) for name in BEYOND]
    doubled = reference("aten::mul.Scalar", 2)
    files += [misfit(tmp_path, name, name=f"{name}-2", reference=doubled) for name in BEYOND]
    found = by_case(validate(tmp_path, *files, library=libraries / "libmisfits.so", arguments=LOW))
    for name, words in BEYOND.items():
        # The FP64 kernel does it as well: nothing can be judged by it.
        assert found[name]["fp32"]["verdict"] == "baseline-invalid", found[name]["fp32"]["reason"]
        assert words in found[name]["fp32"]["reason"]
        assert found[f"{name}-2"]["fp32"]["verdict"] in ("crashed", "baseline-invalid")
        assert words in found[f"{name}-2"]["fp32"]["reason"]
        for trial in (found[name]["cast-bf16"], found[f"{name}-2"]["cast-fp16"]):
            assert trial["verdict"] == "baseline-invalid"


def test_missing_kernels_are_unsupported(libraries: Path, tmp_path: Path) -> None:
    missing = {
        "cuda_only": "misfit::cuda_only has no kernel for device type cpu",
        "no_derivative": "misfit::no_derivative has no derivative here",
        "no_backward_kernel": "misfit::cuda_only",
    }
    files = [misfit(tmp_path, name, backward=name != "cuda_only") for name in missing]
    files += [misfit(tmp_path, "no_derivative", name="forward"), misfit(tmp_path, "no_bf16")]
    found = by_case(validate(tmp_path, *files, library=libraries / "libmisfits.so", arguments=LOW))
    for name, words in missing.items():
        assert found[name]["fp32"]["verdict"] == "unsupported", found[name]["fp32"]["reason"]
        for trial in found[name].values():
            assert trial["verdict"] in ("unsupported", "baseline-invalid")
            assert words in trial["reason"], (name, trial["reason"])
    # Forward it has all that it needs.
    assert {trial["verdict"] for trial in found["forward"].values()} == {"pass"}
    assert found["no_bf16"]["cast-bf16"]["verdict"] == "unsupported"
    assert found["no_bf16"]["cast-fp16"]["verdict"] == "pass"


def test_fp64_that_is_none_and_wrong_derivatives(libraries: Path, tmp_path: Path) -> None:
    files = (
        misfit(tmp_path, "in_fp32"),
        misfit(tmp_path, "in_fp32", name="by_reference", reference=reference("aten::exp")),
        misfit(tmp_path, "wrong_derivative", backward=True),
        misfit(tmp_path, "no_derivative", name="another", reference=reference("aten::relu")),
    )
    found = by_case(validate(tmp_path, *files, library=libraries / "libmisfits.so", arguments=LOW))
    assert "moves in steps in FP64" in found["in_fp32"]["fp32"]["reason"], found["in_fp32"]["fp32"]["reason"]
    assert {trial["verdict"] for trial in found["by_reference"].values()} == {"pass"}
    wrong = found["wrong_derivative"]["fp32"]
    assert wrong["verdict"] == "baseline-invalid"
    assert "its gradient by 'x' is not that of its results" in wrong["reason"]
    assert found["another"]["fp32"]["verdict"] == "inaccurate"


def test_references(libraries: Path, tmp_path: Path) -> None:
    library = libraries / "libmisfits.so"

    def refused(reference: dict[str, Any]) -> str:
        file = misfit(tmp_path, "no_derivative", reference=reference)
        result = validate(tmp_path, file, library=library)
        assert result.code == 2, result.out
        assert str(file) in result.err
        return result.err

    step = {"operator": "aten::relu", "arguments": [{"ref": "x"}], "result": "y"}
    assert "nothing before it is called 'z'" in refused({"operators": [step], "outputs": ["z"]})
    assert "has 2 outputs, the case has 1" in refused(
        {"operators": [step, step | {"result": "z"}], "outputs": ["y", "z"]}
    )
    own = step | {"arguments": [{"tensor": {"shape": [2], "fill": "ones"}}]}
    assert "works on the case's own tensors" in refused({"operators": [own], "outputs": ["y"]})
    foreign = step | {"operator": "misfit::no_bf16"}
    assert "calls an operator of a library" in refused({"operators": [foreign], "outputs": ["y"]})
    assert "outputs" in refused({"operators": [step]})


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("CRASHES", "ends the worker that loads it"),
        ("THROWS", "fails while it is loaded: no licence"),
        ("EXITS", "ends the worker that loads it"),
        ("NEEDS_ANOTHER_LIBTORCH", "nothing here has c10::from_another_version(int)"),
        ("NEEDS_PYTHON", "is an extension of Python"),
        ("NOTHING", "registers no operator"),
        ("replaces_gelu", "has kernels for LibTorch's own aten::gelu"),
    ],
)
def test_libraries_that_cannot_be_used(libraries: Path, tmp_path: Path, what: str, words: str) -> None:
    library = libraries / f"lib{what}.so"
    good = libraries / "libbias_gelu_sum.so"
    result = validate(tmp_path, EXAMPLE / "bias_gelu_sum.json", library=(good, library))
    assert result.code == 2, result.out + result.err
    assert words in result.err, result.err
    assert str(library) in result.err
    assert not records(tmp_path / "a")


def test_files_that_are_no_libraries(libraries: Path, tmp_path: Path) -> None:
    good = libraries / "libbias_gelu_sum.so"
    text = tmp_path / "text.so"
    text.write_text("no library")
    cut = tmp_path / "cut.so"
    cut.write_bytes(good.read_bytes()[:5000])
    copy = tmp_path / "copy.so"
    shutil.copy(good, copy)
    for library, words in (
        ((text,), "cannot be loaded"),
        ((cut,), "is cut short"),
        ((tmp_path / "gone.so",), "is no file"),
        ((tmp_path,), "is no file"),
        ((good, copy), "fails while it is loaded"),  # the same operators twice
    ):
        result = validate(tmp_path, EXAMPLE / "bias_gelu_sum.json", library=library)
        assert result.code == 2, result.out + result.err
        assert words in result.err, result.err
        assert str(library[-1]) in result.err
    # Named twice it is loaded once.
    file = smaller(tmp_path, EXAMPLE / "bias_gelu_sum.json")
    assert validate(tmp_path, file, library=(good, good), arguments=("--precision", "cast-bf16")).code == 0
    missing = validate(tmp_path, EXAMPLE / "bias_gelu_sum.json", library=libraries / "libmisfits.so")
    assert missing.code == 2
    assert "example::bias_gelu_sum" in missing.err


def test_the_record_and_what_goes_on_from_it(libraries: Path, tmp_path: Path) -> None:
    library = tmp_path / "libops.so"
    shutil.copy(libraries / "libbias_gelu_sum.so", library)
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(QUICK))
    case = smaller(tmp_path, EXAMPLE / "bias_gelu_sum.json")
    files = ("--load-library", library, "--case-file", case)
    result = ampgate(
        "run", "--device", "cpu", "--threads", "1", "--precision", "cast-bf16", "--rules", rules,
        "--archive", tmp_path / "a", *files,
    )  # fmt: skip
    assert result.fine, result.out + result.err
    (path,) = records(tmp_path / "a")
    record = json.loads(path.read_text())
    (loaded,) = record["plan"]["files"]["libraries"]
    digest = subprocess.run(["sha256sum", library], capture_output=True, text=True, check=True).stdout.split()[0]
    assert loaded == {
        "path": str(library),
        "sha256": digest,
        "operators": ["example::bias_gelu_sum", "example::bias_gelu_sum_backward"],
        "uses": [],
    }
    trial = record["trials"][1]
    line = shlex.split(trial["reproducer"])
    assert str(library) in line[line.index("--load-library") + 1]
    assert ampgate(*line[1:], "--archive", tmp_path / "b", "--quiet").code == 0
    assert ampgate("reproduce", path, trial["id"], *files).code == 0

    # Another library of that name has the same operators, and is not what was judged.
    with library.open("ab") as end:
        end.write(b"\0")
    for command in (
        ("reproduce", path, trial["id"]),
        ("bench", "--evidence", path, "--rules", rules, "--archive", tmp_path / "c"),
    ):
        without = ampgate(*command, "--case-file", case)
        assert without.code == 2, without.out
        changed = ampgate(*command, *files)
        assert changed.code == 2, changed.out
        assert "SHA-256" in changed.err
        assert str(library) in changed.err
    assert not records(tmp_path / "c")
    # Measured in its own right it is another operator.
    again = ampgate(
        "run", "--device", "cpu", "--threads", "1", "--precision", "cast-bf16", "--rules", rules,
        "--archive", tmp_path / "d", *files,
    )  # fmt: skip
    assert again.fine, again.err
    compared = ampgate("compare", path, records(tmp_path / "d")[0])
    assert compared.code == 5
    assert "/evidence/case_file" in compared.out + compared.err


def test_resume_needs_the_same_library(libraries: Path, tmp_path: Path) -> None:
    library = tmp_path / "libops.so"
    shutil.copy(libraries / "libbias_gelu_sum.so", library)
    files = ["--load-library", library, "--case-file", EXAMPLE / "bias_gelu_sum.json"]
    command = ["validate", "--device", "cpu", "--precision", "cast-bf16", "--archive", tmp_path / "a", *files]
    driver = subprocess.Popen(
        [AMPGATE, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not journals(tmp_path / "a") and driver.poll() is None:
        time.sleep(0.005)
    driver.kill()
    driver.wait()
    (journal,) = journals(tmp_path / "a")
    bytes_before = library.read_bytes()
    library.write_bytes(bytes_before + b"\0")
    for given, words in ((files, "SHA-256"), (files[2:], "example::bias_gelu_sum"), ([], "--load-library")):
        refused = ampgate("validate", "--resume", journal, *given)
        assert refused.code == 2, refused.out + refused.err
        assert words in refused.err, refused.err
    assert journals(tmp_path / "a") == [journal], "nothing is lost"
    library.write_bytes(bytes_before)
    resumed = ampgate("validate", "--resume", journal, *files)
    assert resumed.code == 0, resumed.err


def test_companions_are_in_the_record(libraries: Path, tmp_path: Path) -> None:
    """A library that brings another one along is as much as both."""
    helper = tmp_path / "libhelper.so"
    shutil.copy(libraries / "libmisfits.so", helper)
    source = tmp_path / "user.cpp"
    source.write_text("int user() { return 1; }\n")
    user = tmp_path / "libuser.so"
    finish(start_compiling(source, user, "-Wl,--no-as-needed", str(helper), f"-Wl,-rpath,{tmp_path}"))
    file = misfit(tmp_path, "no_derivative")
    result = validate(tmp_path, file, library=user, arguments=("--precision", "cast-bf16"))
    assert result.code == 0, result.err
    (loaded,) = result.json()["plan"]["files"]["libraries"]
    assert [use["path"] for use in loaded["uses"]] == [str(helper)]
    assert "misfit::no_derivative" in loaded["operators"]
    (path,) = records(tmp_path / "a")
    with helper.open("ab") as end:
        end.write(b"\0")
    trial = "no_derivative/3x17/cast-bf16"
    changed = ampgate("reproduce", path, trial, "--load-library", user, "--case-file", file)
    assert changed.code == 2, changed.out
    assert "SHA-256" in changed.err


@pytest.fixture(scope="module")
def modules(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("modules")
    both = [libraries / f"libbias_gelu_sum{wrong}.so" for wrong in ("", "_wrong")]
    script = Path(__file__).resolve().parent / "torch_foreign.py"
    subprocess.run([sys.executable, script, *both, folder], check=True, capture_output=True)
    return folder


def module_trials(modules: Path, name: str, library: Path, tmp_path: Path, **members: int) -> dict[str, Any]:
    case = {
        "ampgate_case": 1,
        "name": name.lower(),
        "module": f"{name}.pt",
        "inputs": {"x": {"shape": [64, 24], "fill": "normal"}},
        **members,
    }
    file = modules / f"{name}.json"
    file.write_text(json.dumps(case))
    return trials(validate(tmp_path, file, library=(library, modules / f"{name}.pt"), arguments=LOW))


def test_within_a_module(libraries: Path, modules: Path, tmp_path: Path) -> None:
    library = libraries / "libbias_gelu_sum.so"
    found = module_trials(modules, "Right", library, tmp_path, reduction_length=200)
    for name, trial in found.items():
        assert trial["verdict"] == "pass", (name, trial["reason"])
    # Nothing else vouches for it.
    for name, trial in module_trials(modules, "Right", library, tmp_path).items():
        assert trial["verdict"] == "suspect", (name, trial["reason"])
        assert "reduction_length" in trial["reason"]
    assert "example::bias_gelu_sum" in {record["name"] for record in found["cast-bf16"]["operators"]}


def test_a_wrong_one_within_a_module(libraries: Path, modules: Path, tmp_path: Path) -> None:
    wrong = libraries / "libbias_gelu_sum_wrong.so"
    # Its FP64 kernel is as wrong as the others, and would agree with them.
    found = module_trials(modules, "SumInBf16", wrong, tmp_path)
    assert {trial["verdict"] for trial in found.values()} == {"baseline-invalid"}
    assert "moves in steps in FP64" in found["fp32"]["reason"], found["fp32"]["reason"]
    found = module_trials(modules, "SumInOwnType", wrong, tmp_path, reduction_length=200)
    assert found["fp32"]["verdict"] == "pass", found["fp32"]["reason"]
    for name in ("cast-fp16", "cast-bf16"):
        assert found[name]["verdict"] == "inaccurate", (name, found[name]["reason"])


def test_selftest_of_a_users_case(libraries: Path, tmp_path: Path) -> None:
    file = smaller(tmp_path, EXAMPLE / "bias_gelu_sum.json")
    result = ampgate(
        "selftest", "--device", "cpu", "--json", "--load-library", libraries / "libbias_gelu_sum.so",
        "--case-file", file,
    )  # fmt: skip
    assert result.code == 0, result.out + result.err
    record = result.json()
    assert record["files"]["libraries"][0]["operators"]
    put_in = [fault for trial in record["trials"] for fault in trial["faults"] if fault["outcome"] != "not-put-in"]
    assert {fault["operator"] for fault in put_in} == {"example::bias_gelu_sum"}
    assert record["summary"]["must_catch"]["faults"] >= 20
    assert record["summary"]["clean"]["false_alarms"] == 0


@pytest.mark.deep
def test_a_library_that_is_linked_with_all_of_libtorch(tmp_path: Path) -> None:
    """As find_package(Torch) links it: libtorch.so itself, which no worker needs."""
    torch = Path(sysconfig.get_path("purelib")) / "torch"
    source = tmp_path / "twice.cpp"
    source.write_text(
        "#include <ATen/ops/mul.h>\n#include <torch/library.h>\n"
        "static at::Tensor twice(const at::Tensor& x) { return at::mul(x, 2); }\n"
        'TORCH_LIBRARY(linked, m) { m.def("twice(Tensor x) -> Tensor"); }\n'
        'TORCH_LIBRARY_IMPL(linked, CPU, m) { m.impl("twice", twice); }\n'
    )
    library = tmp_path / "libtwice.so"
    includes = [f"-I{torch}/include", f"-I{torch}/include/torch/csrc/api/include"]
    linked = [f"-L{torch}/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"]
    subprocess.run(
        ["c++", "-std=c++17", "-fPIC", "-shared", *includes, source, "-o", library, *linked], check=True
    )  # fmt: skip
    case = {
        "ampgate_case": 1,
        "name": "twice",
        "operator": "linked::twice",
        "arguments": [{"tensor": {"shape": [64, 64], "fill": "normal"}}],
        "reduction_length": 1,
        "precisions": ["cast-bf16"],
    }
    (tmp_path / "twice.json").write_text(json.dumps(case))
    result = ampgate(
        "validate", "--device", "cpu", "--load-library", library, "--case-file", tmp_path / "twice.json",
        "--archive", tmp_path / "archive",
    )  # fmt: skip
    assert result.code == 0, result.out + result.err
