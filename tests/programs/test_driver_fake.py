"""The driver alone, with a fake worker in Python: what the user sees, whatever workers do."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import AMPGATE, ROOT, Result, ampgate, journals, records
from jsonschema import Draft202012Validator

CAST = "matmul/4x5x6/cast-fp16"


@pytest.fixture
def worker(fake_worker: Path) -> Path:
    return fake_worker


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def start(
    command: str,
    worker: Path,
    archive: Path,
    *arguments: str | Path,
    do: Any = (),  # noqa: ANN401
    suite: str = "smoke",
    **env: str,
) -> Result:
    requests = [{"phase": phase, "id": trial, "do": what} for phase, trial, what in do]
    return ampgate(
        command,
        "--suite",
        suite,
        "--worker",
        worker,
        "--archive",
        archive,
        *arguments,
        env={"FAKE_WORKER": json.dumps(requests), **env},
    )


def run(worker: Path, archive: Path, *arguments: str | Path, do: Any = (), **env: str) -> Result:  # noqa: ANN401
    return start("run", worker, archive, *arguments, do=do, **env)


def trials_of(archive: Path) -> dict[str, dict]:
    (record,) = records(archive)
    assert not journals(archive)
    return {trial["id"]: trial for trial in json.loads(record.read_text())["trials"]}


def short_limit(tmp_path: Path) -> Path:
    rules = tmp_path / "rules.json"
    rules.write_text('{"trial_limit_s": 1.0}')
    return rules


def test_what_comes_further_is_not_silent(worker: Path, archive: Path, tmp_path: Path) -> None:
    """Four times as long as the limit altogether."""
    result = run(worker, archive, "--rules", short_limit(tmp_path), do=[("validate", CAST, "long-10")])
    assert result.code == 0, result.out + result.err
    assert trials_of(archive)[CAST]["verdict"] == "pass"


def test_a_whole_run(worker: Path, archive: Path) -> None:
    result = run(worker, archive)
    assert result.code == 0, result.err
    trials = trials_of(archive)
    assert len(trials) == 10  # two cases in five precisions; a CPU has no TF32
    measured = trials[CAST]["measurement"]
    assert measured["verdict"] == "measured"
    assert measured["speedup_over_fp32"]["value"] == pytest.approx(2.5, rel=0.02)
    assert measured["fp16_to_bf16"]["value"] == pytest.approx(4 / 9, rel=0.02)
    assert "FP16 is faster" in measured["fp16_to_bf16"]["in_words"]
    assert measured["tflops"]["value"] == pytest.approx(2.0e6 / measured["time_ns"]["median"] / 1000, rel=1e-9)
    assert measured["memory"]["peak_bytes"] == 123456
    assert measured["time_ns"]["samples"] == 21
    assert measured["time_ns"]["processes"] == 3
    assert trials[CAST]["evidence"]["repeatable"] is True
    assert trials[CAST]["evidence"]["processes"] == 3
    assert "checks" not in trials[CAST]["evidence"]
    assert "FP16 by conversion may run in all 2 cases" in result.out
    assert "2.5" in result.out
    assert "\033[" not in result.out
    assert not list(archive.glob("*/*.log"))


def test_records_fit_their_schema(worker: Path, archive: Path) -> None:
    faults = [("validate", CAST, "segv"), ("bench", "bmm/*/cast-bf16", "output-changed"), ("inspect", "bmm/*", "abort")]
    assert run(worker, archive, do=faults).code == 1
    schema = json.loads((ROOT / "results" / "schema" / "record.schema.json").read_text())
    (record,) = records(archive)
    errors = Draft202012Validator(schema).iter_errors(json.loads(record.read_text()))
    assert not [f"{error.json_path}: {error.message}" for error in errors]


def test_table_is_aligned(worker: Path, archive: Path) -> None:
    lines = run(worker, archive, do=[("validate", CAST, "decision-changed")]).out.splitlines()
    head = next(line for line in lines if line.startswith("case "))
    rows = [line for line in lines if line.split()[1:2] == ["4x5x6"]]
    assert len(rows) == 10
    assert any("decision-changed" in row for row in rows)
    column = head.index("verdict")
    assert all(row[column - 1] == " " and row[column] != " " for row in rows)


def test_answer_alone_and_json_alone(worker: Path, archive: Path) -> None:
    quiet = run(worker, archive, "--quiet")
    assert quiet.err == ""
    assert len(quiet.out.splitlines()) == 5  # a sentence for each of four precisions, and one about targets
    result = run(worker, archive, "--json")
    assert result.code == 0
    assert result.json()["answer"] == quiet.out.splitlines()
    assert result.out in [record.read_text() for record in records(archive)]


@pytest.mark.parametrize("no_colour", [False, True])
def test_colour_on_a_terminal_only(worker: Path, archive: Path, no_colour: bool) -> None:
    try:
        main, terminal = pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine has no pseudo-terminals: {error}")
    env = {**os.environ, "TERM": "xterm", "FAKE_WORKER": "[]", **({"NO_COLOR": "1"} if no_colour else {})}
    driver = subprocess.Popen(
        [AMPGATE, "run", "--suite", "smoke", "--worker", worker, "--archive", archive],
        stdout=terminal,
        stderr=terminal,
        stdin=subprocess.DEVNULL,
        env=env,
    )
    os.close(terminal)
    text = b""
    try:
        while piece := os.read(main, 65536):
            text += piece
    except OSError:
        pass
    os.close(main)
    assert driver.wait() == 0
    assert (b"\033[32mpass" in text) != no_colour
    assert b"left" in text  # the progress line


@pytest.mark.parametrize(
    ("what", "verdict", "words"),
    [
        ("segv", "crashed", "SIGSEGV"),
        ("abort", "crashed", "SIGABRT"),
        ("exit0", "crashed", "without having answered"),
        ("exit1", "crashed", "exit code 1"),
        ("skip", "crashed", "without having answered"),
        ("hang", "timed-out", "limit of 1 s"),
    ],
)
def test_fault_in_validation(worker: Path, archive: Path, tmp_path: Path, what: str, verdict: str, words: str) -> None:
    result = run(worker, archive, "--rules", short_limit(tmp_path), do=[("validate", CAST, what)])
    assert result.code == 1
    trials = trials_of(archive)
    bad = trials.pop(CAST)
    assert bad["verdict"] == verdict
    assert words in bad["reason"]
    assert "measurement" not in bad
    assert all(trial["measurement"]["verdict"] == "measured" for trial in trials.values())
    assert words in result.out
    assert list(archive.glob("*/*.log"))


@pytest.mark.parametrize("phase", ["validate", "repeat", "bench", "inspect"])
@pytest.mark.parametrize("code", [2, 3])
def test_worker_that_gives_up_says_why(worker: Path, archive: Path, phase: str, code: int) -> None:
    result = run(worker, archive, do=[(phase, CAST, f"give-up-{code}")])
    assert result.code == code
    assert f"a worker gave up in {CAST}: exit code {code}: no data in /nope\n" in result.err
    assert "crash" not in result.out + result.err
    (log,) = archive.glob("*/*.log")
    assert f"the worker's output is in {log}" in result.err
    (journal,) = journals(archive)
    assert run_resume(journal).code == 0


def test_crash_quotes_what_the_worker_said(worker: Path, archive: Path) -> None:
    def reason(**env: str) -> str:
        before = set(records(archive))
        assert run(worker, archive, do=[("validate", CAST, "give-up-1")], **env).code == 1
        (record,) = set(records(archive)) - before
        return next(trial for trial in json.loads(record.read_text())["trials"] if trial["id"] == CAST)["reason"]

    assert reason() == "the worker crashed: exit code 1: no data in /nope"
    long = reason(FAKE_ERROR="\033[31m" + "ä" * 5000)
    assert long.startswith("the worker crashed: exit code 1:  [31mää")
    assert long.endswith("ä...")
    assert len(long.encode()) < 400


def test_quote_is_of_the_worker_that_failed(worker: Path, archive: Path) -> None:
    faults = [("validate", "bmm/*/cast-fp16", "give-up-1"), ("repeat", CAST, "exit1")]
    assert run(worker, archive, do=faults).code == 1
    trials = trials_of(archive)
    assert trials["bmm/4x5x6/cast-fp16"]["reason"].endswith("exit code 1: no data in /nope")
    assert "exit code 1" in trials[CAST]["reason"]
    assert "no data" not in trials[CAST]["reason"]


def test_selftest_and_devices_say_why_the_worker_gave_up(worker: Path, tmp_path: Path) -> None:
    request = json.dumps([{"phase": "selftest", "id": CAST, "do": "give-up-3"}])
    result = ampgate("selftest", "--worker", worker, env={"FAKE_WORKER": request})
    assert result.code == 3
    assert "no data in /nope" in result.err
    folder = shutil.copytree(worker, tmp_path / "worker")
    (folder / "ampgate-validate").write_text("#!/bin/sh\necho 'ampgate-validate: no library' >&2; exit 3\n")
    result = ampgate("devices", "--worker", folder)
    assert result.code == 3
    assert "exit code 3: no library" in result.err


@pytest.mark.parametrize("what", ["segv", "inaccurate"])
def test_baseline_that_fails(worker: Path, archive: Path, what: str) -> None:
    result = run(worker, archive, do=[("validate", "matmul/*/fp32", what)])
    assert result.code == 1
    for name, trial in trials_of(archive).items():
        if name.startswith("bmm"):
            assert trial["verdict"] == "pass"
        elif not name.endswith("fp32"):
            assert trial["verdict"] == "baseline-invalid"
            assert what.upper() in trial["reason"].upper()


@pytest.mark.parametrize(
    ("what", "verdict", "words"),
    [("segv", "crashed", "SIGSEGV"), ("hang", "timed-out", "limit"), ("output-changed", "output-changed", "changed")],
)
def test_fault_in_measurement(worker: Path, archive: Path, tmp_path: Path, what: str, verdict: str, words: str) -> None:
    result = run(worker, archive, "--rules", short_limit(tmp_path), do=[("bench", CAST, what)])
    assert result.code == 1
    trials = trials_of(archive)
    bad = trials.pop(CAST)
    assert bad["verdict"] == "pass"
    assert bad["measurement"]["verdict"] == verdict
    assert words in bad["measurement"]["reason"]
    assert "time_ns" not in bad["measurement"]
    for trial in trials.values():
        assert trial["measurement"]["time_ns"]["samples"] == 21


def test_baseline_that_crashes_while_measured(worker: Path, archive: Path) -> None:
    assert run(worker, archive, do=[("bench", "matmul/*/fp32", "abort")]).code == 1
    trials = trials_of(archive)
    assert trials["matmul/4x5x6/fp32"]["measurement"]["verdict"] == "crashed"
    assert trials[CAST]["measurement"]["verdict"] == "refused"
    assert "fp32" in trials[CAST]["measurement"]["reason"]
    assert trials["bmm/4x5x6/cast-fp16"]["measurement"]["verdict"] == "measured"


def test_outputs_that_differ_between_processes(worker: Path, archive: Path) -> None:
    assert run(worker, archive, do=[("repeat", CAST, "differ")]).code == 0
    trials = trials_of(archive)
    evidence = trials[CAST]["evidence"]
    assert evidence["repeatable"] is False
    assert evidence["processes"] == 4
    assert evidence["checks"]
    accuracy = trials[CAST]["accuracy"]
    assert accuracy["repeatable_across_processes"] is False
    assert accuracy["across_processes"] == {"positions": 20, "differing": 5, "outside": 0, "max_abs_difference": 0.5}
    other = trials["bmm/4x5x6/cast-fp16"]
    assert other["accuracy"]["repeatable_across_processes"] is True
    assert other["evidence"]["processes"] == 3


def test_process_that_strays_outside_the_bound_is_unrepeatable(worker: Path, archive: Path) -> None:
    assert run(worker, archive, do=[("repeat", CAST, "stray")]).code == 1
    trial = trials_of(archive)[CAST]
    assert trial["verdict"] == "unrepeatable"
    assert "2 of 20 checked positions: out[3] is 7" in trial["reason"]
    assert "measurement" not in trial or "time_ns" not in trial["measurement"]


def test_crash_in_a_repetition_is_a_crash(worker: Path, archive: Path) -> None:
    assert run(worker, archive, do=[("repeat", CAST, "segv")]).code == 1
    assert trials_of(archive)[CAST]["verdict"] == "crashed"


def test_what_the_inspection_refuses_is_not_timed(worker: Path, archive: Path) -> None:
    result = run(worker, archive, do=[("inspect", CAST, "refused")])
    assert result.code == 1
    trials = trials_of(archive)
    refused = trials[CAST]["measurement"]
    assert refused["verdict"] == "refused"
    assert refused["reason"] == "it reads a value"
    assert refused["audit"]["problems"] == ["it reads a value"]
    assert not {"time_ns", "samples", "memory"} & refused.keys()
    others = [
        trial["measurement"]["verdict"] for name, trial in trials.items() if name != CAST and "measurement" in trial
    ]
    assert others
    assert set(others) == {"measured"}
    assert "1 refused to be measured here" in result.out


@pytest.mark.parametrize("fault", ["segv", "exit0", "exit1"])
def test_what_is_not_audited_to_the_end_has_no_number(worker: Path, archive: Path, fault: str) -> None:
    result = run(worker, archive, do=[("inspect", CAST, fault)])
    assert result.code == 1
    trials = trials_of(archive)
    measured = trials[CAST]["measurement"]
    assert measured["verdict"] == "crashed"
    assert measured["reason"].startswith("in the audit: ")
    assert "time_ns" not in measured
    assert trials["matmul/4x5x6/fp32"]["measurement"]["verdict"] == "measured"


def test_beside_a_baseline_that_was_not_measured_each_trial_says_so(worker: Path, archive: Path) -> None:
    result = run(worker, archive, do=[("inspect", "matmul/4x5x6/fp32", "segv")])
    assert result.code == 1
    measured = trials_of(archive)[CAST]["measurement"]
    assert measured["verdict"] == "refused"
    assert measured["reason"] == "fp32 beside it: crashed"


@pytest.mark.parametrize("what", ["garbage", "unknown-trial", "die-at-once"])
def test_worker_that_breaks_the_protocol(worker: Path, archive: Path, what: str) -> None:
    result = run(worker, archive, do=[("validate", what, "yes")])
    assert result.code == 3
    assert "worker" in result.err
    assert not records(archive)
    assert not journals(archive)  # nothing was finished: nothing to keep
    result = run(worker, archive, do=[("repeat", what, "yes")])
    assert result.code == 3
    (journal,) = journals(archive)
    assert f"--resume {journal}" in result.err
    assert run_resume(journal).code == 0
    assert len(trials_of(archive)) == 10


def run_resume(journal: Path, **env: str) -> Result:
    return ampgate("run", "--resume", journal, env={"FAKE_WORKER": "[]", **env})


def test_worker_of_another_build(worker: Path, archive: Path) -> None:
    result = run(worker, archive, FAKE_BUILD_ID="c" * 64)
    assert result.code == 3
    assert "build" in result.err
    assert not journals(archive)


def in_background(worker: Path, archive: Path, **how: Any) -> subprocess.Popen:  # noqa: ANN401
    return subprocess.Popen(
        [AMPGATE, "run", "--suite", "smoke", "--worker", worker, "--archive", archive],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "FAKE_WORKER": "[]", "FAKE_DELAY_S": "0.3"},
        **how,
    )


def wait_for_lines(archive: Path, count: int) -> Path:
    for _ in range(200):
        for journal in journals(archive):
            if len(journal.read_text().splitlines()) >= count:
                return journal
        time.sleep(0.05)
    raise AssertionError("the journal does not grow")


def test_kill_and_resume(worker: Path, archive: Path) -> None:
    driver = in_background(worker, archive)
    journal = wait_for_lines(archive, 5)
    driver.kill()
    driver.wait()
    before = [json.loads(line) for line in journal.read_text().splitlines()]
    finished = [line["trial"]["id"] for line in before if "trial" in line]
    assert finished
    with journal.open("a") as file:
        file.write('{"trial": {"id": "torn')  # killed while writing
    # The finished ones would crash if they ran again.
    again = [{"phase": "validate", "id": name, "do": "abort"} for name in finished]
    result = run_resume(journal, FAKE_WORKER=json.dumps(again))
    assert result.code == 0, result.err
    assert len(trials_of(archive)) == 10


def test_resume_refuses_other_damage(worker: Path, archive: Path) -> None:
    driver = in_background(worker, archive)
    journal = wait_for_lines(archive, 4)
    driver.kill()
    driver.wait()
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([lines[0], "{broken\n", *lines[2:]]))
    result = run_resume(journal)
    assert result.code == 2
    assert "line 2" in result.err
    journal.write_text("")
    assert run_resume(journal).code == 2


def sealed(lines: list[dict]) -> str:
    """A journal's text with the digests of its lines, as the driver would have written it."""
    text, before = "", ""
    for line in lines:
        body = json.dumps({key: value for key, value in line.items() if key != "sha256"}, separators=(",", ":"))
        before = hashlib.sha256((before + body).encode()).hexdigest()
        text += f'{body[:-1]},"sha256":"{before}"}}\n'
    return text


def test_resume_refuses_what_was_altered(worker: Path, archive: Path) -> None:
    driver = in_background(worker, archive)
    journal = wait_for_lines(archive, 5)
    driver.kill()
    driver.wait()
    good = journal.read_text()[: journal.read_text().rindex("\n") + 1]
    assert sealed([json.loads(line) for line in good.splitlines()]) == good
    for old, new, line in (
        ('"verdict":"pass"', '"verdict":"suspect"', "line 3"),
        ('"seed":1', '"seed":2', "line 1"),
        ('"defect":0.0', '"defect":1.0', "line 1"),
        ('/cast-fp16"', '/cast-bf16"', "line 1"),
    ):
        journal.write_text(good.replace(old, new, 1))
        result = run_resume(journal)
        assert result.code == 2, result.err
        assert f"{line}: altered" in result.err
    # Even where the line fits itself, plan and rules must fit the digests that evidence refers to.
    for old, new, part in (('"seed":1', '"seed":2', "plan"), ('"defect":0.0', '"defect":1.0', "rules")):
        journal.write_text(sealed([json.loads(line) for line in good.replace(old, new, 1).splitlines()]))
        result = run_resume(journal)
        assert result.code == 2, result.err
        assert f"#/{part}: altered" in result.err
    journal.write_text(good)
    assert run_resume(journal).code == 0


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupt_keeps_the_journal(worker: Path, archive: Path, sent: signal.Signals, code: int) -> None:
    inherited = signal.signal(sent, signal.SIG_DFL)  # under nohup the tests are told to ignore a hang-up
    driver = in_background(worker, archive)
    signal.signal(sent, inherited)
    journal = wait_for_lines(archive, 4)
    driver.send_signal(sent)
    _, err = driver.communicate(timeout=20)
    assert driver.returncode == code
    assert f"ampgate run --resume {journal}" in err
    assert run_resume(journal).code == 0


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_second_signal_still_says_how_to_resume(worker: Path, archive: Path, second: signal.Signals) -> None:
    driver = in_background(worker, archive)
    journal = wait_for_lines(archive, 4)
    driver.send_signal(signal.SIGINT)
    driver.send_signal(second)
    _, err = driver.communicate(timeout=20)
    assert driver.returncode in (130, 143)
    assert f"Go on with: ampgate run --resume {journal}" in err
    assert run_resume(journal).code == 0


def test_two_signals_at_once(worker: Path, archive: Path) -> None:
    driver = in_background(worker, archive)
    journal = wait_for_lines(archive, 4)
    driver.send_signal(signal.SIGSTOP)  # so that both wait for it together
    os.waitid(os.P_PID, driver.pid, os.WSTOPPED | os.WNOWAIT)
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        driver.send_signal(sent)
    _, err = driver.communicate(timeout=20)
    assert driver.returncode in (130, 143)
    assert f"ended at once. Go on with: ampgate run --resume {journal}" in err
    assert run_resume(journal).code == 0


def test_ignored_hangup_stays_ignored(worker: Path, archive: Path) -> None:
    driver = in_background(worker, archive, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_lines(archive, 4)
    driver.send_signal(signal.SIGHUP)
    driver.communicate(timeout=60)
    assert driver.returncode == 0


def test_standard_error_that_is_gone(worker: Path, archive: Path) -> None:
    with Path("/dev/full").open("w") as full:
        bad = subprocess.run([AMPGATE, "frobnicate"], stderr=full, check=False)
        command = [AMPGATE, "run", "--suite", "smoke", "--worker", worker, "--archive", archive]
        good = subprocess.run(command, stderr=full, stdout=subprocess.DEVNULL, check=False)
    assert bad.returncode == 2
    assert good.returncode == 0
    assert len(records(archive)) == 1


def test_bench_with_evidence(worker: Path, archive: Path, tmp_path: Path) -> None:
    assert start("validate", worker, archive).code == 0
    (record,) = records(archive)
    assert all("measurement" not in trial for trial in json.loads(record.read_text())["trials"])

    def bench(*arguments: str | Path, **env: str) -> Result:
        return ampgate(
            "bench",
            "--evidence",
            record,
            "--worker",
            worker,
            "--archive",
            tmp_path / "bench",
            *arguments,
            env={"FAKE_WORKER": "[]", **env},
        )

    result = bench()
    assert result.code == 0, result.err
    measured = trials_of(tmp_path / "bench")
    assert all(trial["measurement"]["verdict"] == "measured" for trial in measured.values())
    schema = json.loads((ROOT / "results" / "schema" / "record.schema.json").read_text())
    for made in (record, *records(tmp_path / "bench")):
        errors = Draft202012Validator(schema).iter_errors(json.loads(made.read_text()))
        assert not [f"{error.json_path}: {error.message}" for error in errors]
    for arguments, field in ((["--seed", "7"], "/seed"), (["--rules", short_limit(tmp_path)], "/rules_sha256")):
        refused = bench(*arguments)
        assert refused.code == 1
        assert refused.err.count(f"{field}: ") == 1
    assert len(records(tmp_path / "bench")) == 1
    part = bench("--case", CAST)
    assert part.code == 0
    sizes = [len(json.loads(record.read_text())["trials"]) for record in records(tmp_path / "bench")]
    assert sorted(sizes) == [2, 10]


def test_precise_goes_on_until_narrow_or_the_budget_is_spent(worker: Path, archive: Path) -> None:
    result = run(worker, archive, "--precise", "--case", "matmul", "--budget-s", "20")
    assert result.code == 0, result.err
    (record,) = records(archive)
    content = json.loads(record.read_text())
    (bench,) = [phase for phase in content["run"]["phases"] if phase["name"] == "bench"]
    assert bench["ended_because"] in ("every interval is as narrow as asked", "the time budget was spent")
    processes = content["bench"]["processes"]
    assert len(processes) >= 5
    assert len({process["order_seed"] for process in processes}) == len(processes)


def width_run(
    worker: Path,
    archive: Path,
    *arguments: str,
    do: Any = (),  # noqa: ANN401
    suite: str = "smoke",
) -> tuple[Result, dict]:
    case = "matmul" if suite == "smoke" else "matmul/8x8x8"
    result = start("run", worker, archive, "--case", case, *arguments, do=do, suite=suite)
    (record,) = records(archive)
    content = json.loads(record.read_text())
    schema = json.loads((ROOT / "results" / "schema" / "record.schema.json").read_text())
    assert not list(Draft202012Validator(schema).iter_errors(content))
    return result, content


def test_a_width_that_is_reached_ends_the_measurement(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, "--width", "5", "--budget-s", "600")
    assert result.code == 0, result.err
    assert len(content["bench"]["processes"]) == 3
    assert content["plan"]["schedule"]["target_half_width"] == 0.05
    for trial in content["trials"]:
        measured = trial["measurement"]
        assert measured["verdict"] == "measured"
        assert measured["stopped_by"] == "width"
        assert measured["looks"] == 1
        assert measured["widest_half_width"] <= 0.05
        # Half of what may be missed is spent at the first look.
        assert measured["time_ns"]["level"] == pytest.approx(0.975)


def test_too_noisy_for_the_width_is_ambiguous(worker: Path, archive: Path) -> None:
    noisy = [("bench", "matmul/*", "noisy")]
    result, content = width_run(worker, archive, "--width", "0.1", "--budget-s", "4", do=noisy)
    assert result.code == 5, result.err
    (bench,) = [phase for phase in content["run"]["phases"] if phase["name"] == "bench"]
    assert bench["ended_because"] == "the time budget was spent"
    assert len(content["bench"]["processes"]) > 3
    for trial in content["trials"]:
        measured = trial["measurement"]
        assert measured["verdict"] == "ambiguous"
        assert measured["stopped_by"] == "budget"
        assert "asked for were +-0.1 %: the budget of 4 s was spent" in measured["reason"]
    assert "ambiguous: matmul/4x5x6/fp32" in result.out


def test_a_budget_ends_slow_blocks(worker: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look alone would take three times seven blocks of a second."""
    monkeypatch.setenv("FAKE_BLOCK_S", "1")
    result, content = width_run(worker, archive, "--width", "5", "--budget-s", "5")
    assert result.code == 5, result.out
    (bench,) = [phase for phase in content["run"]["phases"] if phase["name"] == "bench"]
    assert bench["ended_because"] == "the time budget was spent"
    for trial in content["trials"]:
        measured = trial["measurement"]
        assert measured["verdict"] == "ambiguous"
        assert measured["stopped_by"] == "budget"
        assert "the budget of 5 s was spent" in measured["reason"]
        assert 1 <= measured["time_ns"]["samples"] <= 6


def test_looks_take_half_as_many_blocks_again(worker: Path, archive: Path) -> None:
    _, content = width_run(worker, archive, "--width", "0.1", "--budget-s", "6", do=[("bench", "matmul/*", "noisy")])
    looks = [process["look"] for process in content["bench"]["processes"]]
    # 7 blocks a process: 20, 30, 45 and 68 blocks are 3, 5, 7 and 10 processes.
    assert looks[:10] == [1, 1, 1, 2, 2, 3, 3, 4, 4, 4][: len(looks)]


def test_every_mode_in_one_record(worker: Path, archive: Path) -> None:
    modes = ["--cold", "--latency", "--sustained", "--default-malloc"]
    result, content = width_run(worker, archive, *modes)
    assert result.code == 0, result.err
    names = [process["mode"] for process in content["bench"]["processes"]]
    assert [names.count(mode) for mode in ("warm", "cold", "latency", "sustained", "default-malloc")] == [3, 3, 3, 1, 3]
    trial = next(trial for trial in content["trials"] if trial["id"] == CAST)
    variants = trial["variants"]
    warm = trial["measurement"]["time_ns"]["median"]
    assert warm == pytest.approx(400, rel=0.02)
    for mode, factor in {"cold": 4.0, "latency": 1.1, "sustained": 1.5, "default-malloc": 2.0}.items():
        assert variants[mode]["time_ns"]["median"] == pytest.approx(400 * factor, rel=0.02)
        assert variants[mode]["speedup_over_fp32"]["value"] == pytest.approx(2.5, rel=0.02)
    latency = variants["latency"]["latency"]
    assert latency["calls"] == 210
    assert latency["p50_ns"]["value"] == pytest.approx(446, abs=5)
    assert latency["absent"]["p99_ns"] == "210 calls, at least 1000 are needed"
    sustained = variants["sustained"]["sustained"]
    assert sustained["energy_per_call_j"] == 0.03
    assert sustained["clock_mhz"] == {"first": 2000.0, "last": 1981.0, "least": 1981.0, "most": 2000.0, "samples": 20}
    assert sustained["absent"] == {"temperature_c": "the device does not tell"}
    for word in ("cold", "latency", "sustained", "default-malloc", "0.03 J a call"):
        assert word in result.out


def test_disturbed_blocks_are_left_out(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, do=[("bench", CAST, "disturb-2")])
    assert result.code == 0, result.err
    for trial in content["trials"]:
        measured = trial["measurement"]
        assert measured["disturbed"]["blocks"] == 6  # two in each process, for all precisions of the block
        assert measured["disturbed"]["left_out"] == 6
        assert measured["time_ns"]["samples"] == 21
        assert len(measured["samples"]) == 27
    cast = next(trial for trial in content["trials"] if trial["id"] == CAST)
    assert cast["measurement"]["time_ns"]["median"] == pytest.approx(400, rel=0.02)
    assert "Disturbed blocks: 6, of which 6 are kept out of the numbers" in result.out


def test_a_machine_that_is_always_disturbed_claims_no_speed(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, do=[("bench", CAST, "disturb-99")])
    assert result.code == 5, "a required trial has no time that can be relied on"
    measured = next(trial for trial in content["trials"] if trial["id"] == CAST)["measurement"]
    assert measured["verdict"] == "ambiguous"
    assert measured["reason"].startswith("42 of 42 blocks were disturbed, too many to leave them all out")
    assert measured["disturbed"]["left_out"] == 0
    assert measured["time_ns"]["samples"] == 42
    assert "FP16 by conversion may run; its time is not clear." in result.out
    for name in ("speedup_over_fp32", "fp16_to_bf16"):
        ratio = measured[name]
        assert "interval" not in ratio
        assert ratio["in_words"].startswith("not clear: no interval, since matmul/4x5x6/"), name
        assert "blocks were disturbed" in ratio["in_words"]


def test_disturbed_times_meet_no_target(worker: Path, archive: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"targets": {"*": {CAST: {"min_speedup_over_fp32": 0.1, "min_tflops": 1e6}}}}))
    result, content = width_run(worker, archive, "--rules", str(rules), do=[("bench", CAST, "disturb-99")])
    assert result.code == 5, "neither met nor missed"
    measured = next(trial for trial in content["trials"] if trial["id"] == CAST)["measurement"]
    assert [target["outcome"] for target in measured["targets"]] == ["not shown", "not shown"]
    assert "Targets of the rules: 0 of 2 met." in result.out


def test_no_share_of_a_disturbed_ceiling(worker: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_DISTURBED", "another process kept a CPU for 60 % of the time")
    result, content = width_run(worker, archive, suite="standard")
    assert result.code == 0, result.err
    assert content["ceilings"]["copy_gbps"]["disturbed"].startswith("another process")
    for trial in content["trials"]:
        for rate in ("tflops", "gbps"):
            assert "share_of_ceiling" not in trial["measurement"][rate]
            assert "while another process" in trial["measurement"][rate]["absent"]["share_of_ceiling"]
        assert "while another process" in trial["measurement"]["absent"]["roofline"]
    assert "Other work disturbed reading, writing and copying, products in fp32, products in fp16," in result.out


def test_latency_is_that_of_undisturbed_calls(worker: Path, archive: Path) -> None:
    _, content = width_run(worker, archive, "--latency", do=[("bench", CAST, "disturb-2")])
    latency = next(trial for trial in content["trials"] if trial["id"] == CAST)["variants"]["latency"]
    assert len(latency["samples"]) == 27
    assert latency["latency"]["calls"] == 210
    assert latency["disturbed"] == {**latency["disturbed"], "blocks": 6, "left_out": 6}


def test_what_disturbs_one_sustained_trial_disturbs_no_other(worker: Path, archive: Path) -> None:
    _, content = width_run(worker, archive, "--sustained", do=[("bench", CAST, "disturb-2")])
    variants = {trial["id"]: trial["variants"]["sustained"] for trial in content["trials"]}
    assert variants[CAST]["disturbed"]["blocks"] == 2
    assert variants[CAST]["disturbed"]["left_out"] == 2
    assert variants[CAST]["verdict"] == "measured"
    assert "disturbed" not in variants["matmul/4x5x6/fp32"]


def test_a_sustained_run_that_is_always_disturbed_claims_no_speed(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, "--sustained", do=[("bench", CAST, "disturb-99")])
    assert result.code == 5
    sustained = next(trial for trial in content["trials"] if trial["id"] == CAST)["variants"]["sustained"]
    assert sustained["verdict"] == "ambiguous"
    assert sustained["reason"].startswith("20 of 20 blocks were disturbed")
    assert "interval" not in sustained["speedup_over_fp32"]


def test_a_new_measurement_takes_no_old_one_along(worker: Path, archive: Path, tmp_path: Path) -> None:
    width_run(worker, archive, "--cold")
    (evidence,) = records(archive)
    again = ampgate("bench", "--evidence", evidence, "--worker", worker, "--archive", tmp_path / "again")
    assert again.code == 0, again.err
    (record,) = records(tmp_path / "again")
    for trial in json.loads(record.read_text())["trials"]:
        assert "measurement" in trial
        assert "variants" not in trial


def test_a_time_beyond_the_peak_is_refused(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, do=[("bench", "matmul/*/cast-fp16", "too-fast")], suite="standard")
    assert result.code == 1
    measured = next(trial for trial in content["trials"] if trial["precision"] == "cast-fp16")["measurement"]
    assert measured["verdict"] == "refused"
    assert "TFLOP/s is above this device's peak of 100 in fp16 (invented); the likely cause" in measured["reason"]
    assert "time_ns" not in measured


def test_shares_of_the_ceilings(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, suite="standard")
    # The fake device copies 1000 bytes in 100 ns and multiplies 2e6 operations in 500 ns.
    assert content["ceilings"]["copy_gbps"]["value"] == pytest.approx(10)
    assert content["ceilings"]["matmul_tflops"]["fp16"]["value"] == pytest.approx(4)
    assert content["ceilings"]["absent"] == {"matmul_tflops/tf32": "no such format"}
    measured = next(trial for trial in content["trials"] if trial["precision"] == "cast-fp16")["measurement"]
    assert measured["tflops"]["share_of_ceiling"] == pytest.approx(500 / 400, rel=0.02)
    assert measured["gbps"]["share_of_ceiling"] == pytest.approx(100 / 400, rel=0.02)
    roofline = measured["roofline"]
    assert roofline["bound_by"] == "compute"
    assert roofline["share"] == pytest.approx(500 / 400, rel=0.02)
    assert roofline["in_cache"] is False
    assert "Ceilings in this run: read 10.0 GB/s" in result.out


def test_smoke_leaves_ceilings_out(worker: Path, archive: Path) -> None:
    _, content = width_run(worker, archive)
    assert "ceilings" not in content
    measured = content["trials"][0]["measurement"]
    assert "(suite smoke does not)" in measured["absent"]["roofline"]
    assert "share_of_ceiling" not in measured["gbps"]


def test_targets(worker: Path, archive: Path, tmp_path: Path) -> None:
    floors = {"matmul/*/cast-fp16": {"min_speedup_over_fp32": 2.0}, "matmul/*/cast-bf16": {"min_tflops": 50.0}}
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"targets": {"Fake*": floors, "Other*": {"*": {"min_gbps": 1e9}}}}))
    result, content = width_run(worker, archive, "--rules", str(rules))
    assert result.code == 4, result.err
    measured = {trial["precision"]: trial["measurement"] for trial in content["trials"]}
    (met,) = measured["cast-fp16"]["targets"]
    assert met["outcome"] == "met"
    assert measured["cast-fp16"]["verdict"] == "measured"
    (missed,) = measured["cast-bf16"]["targets"]
    assert missed["outcome"] == "missed"
    assert measured["cast-bf16"]["verdict"] == "below-target"
    assert "min_tflops of matmul/*/cast-bf16: at least 50 TFLOP/s asked, 2.21 TFLOP/s measured" in result.out
    assert measured["fp32"]["absent"]["targets"] == "the rules hold no floor for this trial on Fake CPU"
    assert "Targets of the rules: 1 of 2 met." in result.out


def test_a_target_that_is_not_decided_is_no_pass(worker: Path, archive: Path, tmp_path: Path) -> None:
    noisy = [("bench", CAST, "noisy")]
    _, before = width_run(worker, tmp_path / "before", do=noisy)
    speedup = next(trial for trial in before["trials"] if trial["id"] == CAST)["measurement"]["speedup_over_fp32"]
    least = speedup["value"]
    assert speedup["interval"][0] < least < speedup["interval"][1]
    rules = tmp_path / "rules.json"
    # A floor in the interval decides nothing; and fp32 over itself is no target.
    floors = {"matmul/*": {"min_speedup_over_fp32": 0.5}, "*/cast-fp16": {"min_speedup_over_fp32": least}}
    rules.write_text(json.dumps({"targets": {"*": floors}}))
    result, content = width_run(worker, archive, "--rules", str(rules), do=noisy)
    assert result.code == 5, result.out
    measured = {trial["precision"]: trial["measurement"] for trial in content["trials"]}
    assert "targets" not in measured["fp32"]
    outcomes = {target["least"]: target["outcome"] for target in measured["cast-fp16"]["targets"]}
    assert outcomes[least] == "not shown"
    assert "its interval does not tell the two apart" in measured["cast-fp16"]["reason"]


def test_no_target_is_said(worker: Path, archive: Path, tmp_path: Path) -> None:
    result, _ = width_run(worker, archive)
    assert "Targets: the rules hold none, so no time was compared with one." in result.out
    rules = tmp_path / "rules.json"
    rules.write_text('{"targets": {"Other*": {"*": {"min_gbps": 1}}}}')
    other = run(worker, tmp_path / "other", "--case", "matmul", "--rules", str(rules))
    assert other.code == 0
    assert "Targets: the rules hold none for a trial of this run on Fake CPU." in other.out


def test_a_crash_keeps_the_samples_until_then(worker: Path, archive: Path) -> None:
    result, content = width_run(worker, archive, do=[("bench", CAST, "segv")])
    assert result.code == 1
    measured = next(trial for trial in content["trials"] if trial["id"] == CAST)["measurement"]
    assert measured["verdict"] == "crashed"
    assert len(measured["samples"]) == 1
    assert "time_ns" not in measured


def test_environment_of_the_workers(worker: Path, archive: Path, tmp_path: Path) -> None:
    result = run(
        worker,
        archive,
        "--threads",
        "1",
        "--case",
        "bmm",
        FAKE_ENVIRONMENT_TO=str(tmp_path / "env.json"),
        ONEDNN_MAX_CPU_ISA="AVX2",
        NVIDIA_TF32_OVERRIDE="1",
        OMP_PROC_BIND="spread",
    )
    assert result.code == 0, result.err
    seen = json.loads((tmp_path / "env.json").read_text())
    assert seen["OMP_NUM_THREADS"] == "1"
    assert seen["GOMP_SPINCOUNT"] == "10000"
    assert "OMP_WAIT_POLICY" not in seen
    assert not {"ONEDNN_MAX_CPU_ISA", "NVIDIA_TF32_OVERRIDE"} & set(seen)
    assert seen["OMP_PROC_BIND"] == "true"
    (record,) = records(archive)
    variables = json.loads(record.read_text())["environment"]["variables"]
    assert variables["removed"]["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    assert variables["removed"]["OMP_PROC_BIND"] == "spread"
    assert variables["set"]["OMP_NUM_THREADS"] == "1"


def test_precision_brings_its_baseline(worker: Path, archive: Path) -> None:
    result = run(worker, archive, "--dry-run", "--precision", "cast-fp16,tf32", "--case", "bmm")
    assert result.code == 0
    assert result.out.splitlines()[:3] == ["bmm/4x5x6/fp32", "bmm/4x5x6/tf32", "bmm/4x5x6/cast-fp16"]
    assert "3 trials" in result.out
    assert not archive.exists()


def test_unsupported_that_is_not_required_does_not_fail(worker: Path, archive: Path) -> None:
    assert run(worker, archive, "--precision", "tf32", "--case", "bmm").code == 0
    assert trials_of(archive)["bmm/4x5x6/tf32"]["verdict"] == "unsupported"


@pytest.mark.parametrize(
    ("rules", "arguments", "code"),
    [
        ({"required": ["tf32"]}, [], 1),
        ({"required": ["fp32", "tf32"]}, [], 1),
        ({"required": ["*"]}, [], 1),
        ({"required": ["fp32", "tf32"], "unsupported_fails": False}, [], 0),
        ({"required": ["tf32"], "unsupported_fails": False}, [], 1),
        ({"required": ["cast-fp16"]}, ["--precision", "cast-bf16"], 1),
        ({"required": ["cast-fp16"]}, ["--precision", "cast-fp16"], 0),
    ],
)
@pytest.mark.parametrize("command", ["run", "validate"])
def test_required_that_cannot_be_judged(
    worker: Path, archive: Path, tmp_path: Path, command: str, rules: dict, arguments: list[str], code: int
) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(rules))
    result = start(command, worker, archive, "--rules", file, *arguments)
    assert result.code == code, result.out + result.err
    trials = trials_of(archive)
    if not arguments:
        assert trials["matmul/4x5x6/tf32"]["verdict"] == "unsupported"
        assert "unsupported: " in result.out
    judged = [t for t in trials.values() if t["precision"] in rules["required"] and t["verdict"] == "pass"]
    assert ("no such trial was judged: this run fails" in result.out) == (not judged and rules["required"] != ["*"])


def test_case_of_another_suite(worker: Path, archive: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(worker, tmp_path / "worker")
    manifest = json.loads((folder / "cases.json").read_text())
    manifest["cases"].append(manifest["cases"][0] | {"name": "huge", "suites": {"large": [[99, 99, 99]]}})
    (folder / "cases.json").write_text(json.dumps(manifest))
    for pattern, words in (
        ("nope", "no case is called 'nope' in suite 'smoke'\n  known: bmm, matmul See: ampgate list --suite smoke"),
        ("hugee", "no case is called 'hugee' in suite 'smoke'\n  known: bmm, matmul See"),
        ("huge", "'huge' is not in suite 'smoke' but in large\n  choose it with --suite large"),
        ("huge/99x*", "not in suite 'smoke' but in large"),
        ("matmul/9x9x9/cast-bf16", "not in suite 'smoke' but in standard"),
        ("matmul/4x5x6/tf32", "names no trial of the precisions that this run has"),
    ):
        result = run(folder, archive, "--dry-run", "--case", pattern)
        assert result.code == 2
        assert words in result.err
    assert ampgate("list", "--worker", folder, "--suite", "large", "--case", "huge").code == 0


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_records_that_cannot_be_read_are_named(worker: Path, archive: Path, option: str) -> None:
    assert run(worker, archive).code == 0
    (good,) = records(archive)
    text = good.read_text()
    (good.parent / "9.json").write_text(text[:500])
    (good.parent / "8.json").write_text(text.replace('"ampgate_record":2', '"ampgate_record":3', 1))
    other = json.loads(text)
    other["device"]["uuid"] = 5
    other["digest"] = "0" * 64
    sealed = json.dumps(other)
    digest = hashlib.sha256(sealed.encode()).hexdigest()
    (good.parent / "7.json").write_text(sealed.replace("0" * 64, digest, 1))
    result = run(worker, archive, option)
    assert result.code == 0, result.err
    warnings = [line for line in result.err.splitlines() if line.startswith("ampgate: warning: ")]
    assert [re.search(r"/(\d)\.json", line)[1] for line in warnings] == ["9", "8", "7"]
    assert "record of version 3, which is newer" in warnings[1]
    assert "/device/uuid must be string" in warnings[2]
    newest = max(records(archive), key=lambda path: path.stat().st_mtime_ns)
    assert json.loads(newest.read_text())["rules_previous"]["record"] == json.loads(text)["id"]


def test_list_and_devices(worker: Path) -> None:
    listed = ampgate("list", "--worker", worker, "--suite", "standard", "--json").json()
    assert [case["shape"]["name"] for case in listed["cases"]] == ["8x8x8", "9x9x9"] * 2
    assert "matmul" in ampgate("list", "--worker", worker).out
    for wrong in (("--suite", "nope"), ("--case", "nope"), ("--precision", "nope")):
        refused = ampgate("list", "--worker", worker, *wrong)
        assert refused.code == 2
        assert refused.out == ""
    devices = ampgate("devices", "--worker", worker)
    assert devices.code == 0
    assert "no CUDA module" in devices.out
    missing = ampgate("run", "--worker", worker, "--device", "cuda:0")
    assert missing.code == 3
    assert "no CUDA module" in missing.err


def test_reproduce(worker: Path, archive: Path) -> None:
    assert start("validate", worker, archive).code == 0
    (record,) = records(archive)
    same = ampgate("reproduce", record, CAST, "--worker", worker)
    assert same.code == 0
    assert "same bits" in same.out
    crash = json.dumps([{"phase": "validate", "id": CAST, "do": "segv"}])
    other = ampgate("reproduce", record, CAST, "--worker", worker, env={"FAKE_WORKER": crash})
    assert other.code == 1
    assert "different" in other.out
    unknown = ampgate("reproduce", record, "matmul/4x5x6/cast-fp61", "--worker", worker)
    assert unknown.code == 2
    assert CAST in unknown.err


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_archive(worker: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small], check=False).returncode != 0:
        pytest.skip("this machine does not let us mount a tmpfs")
    try:
        result = run(worker, small)
        assert result.code == 3
        assert "space" in result.err.lower()
        assert not records(small)
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "-1"], "--seed"),
        (["--seed", "9223372036854775808"], "--seed"),
        (["--seed", "18446744073709551616"], "--seed"),
        (["--seed", "1.0"], "--seed"),
        (["--precise", "--budget-s", "nan"], "--budget-s"),
        (["--precise", "--budget-s", "inf"], "--budget-s"),
        (["--precise", "--budget-s", "0.5"], "--budget-s"),
        (["--precise", "--budget-s", "0"], "--budget-s"),
        (["--precise", "--budget-s", "1"], "spent before the first look: 5 processes with 4 blocks of 10 trials"),
        (["--budget-s", "60"], "--precise"),
        (["--width", "0"], "--width"),
        (["--width", "-1"], "--width"),
        (["--width", "nan"], "--width"),
        (["--width", "51"], "--width"),
        (["--width", "1", "--precise"], "--precise is --width 1"),
        (["--cpus", "5-3"], "'5-3' runs backwards"),
        (["--cpus", "0,,1"], "'' is no processor's number"),
        (["--cpus", "1023"], "processor 1023 is not there"),
        (["--precision", "cast-bf16,"], "--precision"),
        (["--precision", ",cast-bf16"], "--precision"),
        (["--precision", "fp32,,cast-bf16"], "--precision"),
        (["--precision", ","], "--precision"),
        (["--threads", "1.5"], "--threads"),
        *(
            ([option, ""], option)
            for option in ("--precision", "--worker", "--archive", "--case", "--suite", "--device", "--rules", "--seed")
        ),
        *(([option, ""], option) for option in ("--threads", "--resume", "--budget-s", "--processes")),
    ],
)  # fmt: skip
def test_values_that_mean_nothing(worker: Path, archive: Path, arguments: list[str], words: str) -> None:
    result = run(worker, archive, "--dry-run", *arguments)
    assert result.code == 2, result.out + result.err
    assert words in result.err
    assert result.out == ""


def test_largest_seed(worker: Path, archive: Path) -> None:
    result = run(worker, archive, "--dry-run", "--seed", "9223372036854775807")
    assert result.code == 0, result.err
    assert "seed 9223372036854775807" in result.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"required": ["cast-fp61"]}', ["#/required: ", "cast-fp16"]),
        ('{"required": []}', ["#/required: ", "empty"]),
        ('{"minimum_accuracy": {"digits": 0.9}}', ["#/minimum_accuracy/digits: ", "digits_net"]),
        ('{"maximum_rmse": {"digits_net": 0.9}}', ["#/maximum_rmse/digits_net: ", "no case here has"]),
        ('{"minimum_accuracy": {"matmul": 0.9}}', ["#/minimum_accuracy/matmul: ", "digits_net"]),
        ('{"outputs": {"net": {"max_margin": 1}}}', ["#/outputs/net: ", "digits_net"]),
        ('{"outputs": {"digits_net/aux": {"max_margin": 1}}}', ["#/outputs/digits_net~1aux: ", "aux.0"]),
        (
            '{"outputs": {"digits_net": {"ignore": "x"}, "digits_net/aux.0": {"ignore": "y"}}}',
            ["#/outputs/digits_net: ", "every output"],
        ),
    ],
)
def test_rules_that_nothing_can_meet(worker: Path, archive: Path, tmp_path: Path, text: str, words: list[str]) -> None:
    folder = shutil.copytree(worker, tmp_path / "worker")
    manifest = json.loads((folder / "cases.json").read_text())
    net = {"name": "digits_net", "model": True, "outputs": ["scores", "aux.0"], "quality": ["accuracy"]}
    manifest["cases"].append(manifest["cases"][0] | net)
    (folder / "cases.json").write_text(json.dumps(manifest))
    rules = tmp_path / "rules.json"
    rules.write_text(text)
    result = run(folder, archive, "--dry-run", "--rules", rules)
    assert result.code == 2, result.out + result.err
    assert all(word in result.err for word in words), result.err
    ignored = '"outputs": {"digits_net/aux.0": {"ignore": "scratch"}}'
    rules.write_text(f'{{"minimum_accuracy": {{"digits_net": 0.9}}, "required": ["islands-*"], {ignored}}}')
    assert run(folder, archive, "--dry-run", "--rules", rules).code == 0


def test_help_is_fast() -> None:
    best = 1.0
    for _ in range(10):
        begin = time.perf_counter()
        subprocess.run([AMPGATE, "--help"], stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - begin)
    assert best <= 0.020


@pytest.mark.parametrize(
    ("do", "words"),
    [
        ("miss", "missed: flip-mantissa-1 in matmul/4x5x6/cast-fp16"),
        ("alarm", "false alarm: matmul/4x5x6/cast-fp16 with seed 7: inaccurate: too strict"),
        ("broken", "broken: flip-mantissa-23 in matmul/4x5x6/cast-fp16"),
        ("refuse", "refused without a fault: matmul/4x5x6/cast-fp16: nonfinite"),
        ("segv", "The worker did not finish: killed by SIGSEGV in matmul/4x5x6/cast-fp16"),
        ("exit0", "The worker did not finish: exited without having answered"),
    ],
)
def test_selftest_fails(worker: Path, do: str, words: str) -> None:
    request = json.dumps([{"phase": "selftest", "id": CAST, "do": do}])
    result = ampgate("selftest", "--worker", worker, env={"FAKE_WORKER": request})
    assert result.code == 1, result.err
    assert words in result.out
    assert "FAILS" in result.out


def test_selftest_passes(worker: Path) -> None:
    result = ampgate("selftest", "--worker", worker, "--json", "--deep", "--case", "matmul")
    assert result.code == 0, result.err
    record = result.json()
    assert [trial["case"] for trial in record["trials"]] == ["matmul"] * 5
    summary = record["summary"]
    assert summary["must_catch"] == {"faults": 5, "caught": 5, "torch_testing": 5, "one_percent": 0, "k_over_100": 0}
    assert summary["may_miss"]["caught"] == 0
    assert summary["clean"]["trials"] == 5 * 200
    assert summary["clean"]["rate_upper_limit"] == pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-9)
    text = ampgate("selftest", "--worker", worker).out
    assert "flip-mantissa" in text
    assert "10/10" in text
    assert "The detector works." in text
