"""The view `runs`: a row for each record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archive_query.rows.kinds import (
    FLAG,
    INTEGER,
    INTEGERS,
    REAL,
    TEXT,
    TEXT_MAP,
    TEXTS,
    TIME,
    UNSIGNED,
)
from archive_query.rows.table import Column, Row, Table

RUN = (
    Column("run_id", TEXT, ("id",), "id of the run, as in its record's name", required=True),
    Column("record_digest", TEXT, ("digest",), "SHA-256 that stands in the record", required=True),
    Column("record_version", INTEGER, ("ampgate_record",), "version of its schema when it was written", required=True),
    Column("started", TIME, ("run", "started"), "the run began, UTC", required=True),
    Column("finished", TIME, ("run", "finished"), "the run ended, UTC"),
    Column("command", TEXT, ("run", "command"), "run, validate or bench", required=True),
    Column("command_line", TEXT, ("run", "command_line"), "as it was given"),
    Column("ampgate", TEXT, ("run", "ampgate"), "version of ampgate"),
    Column("times_resumed", INTEGER, ("run", "times_resumed"), "how often an interrupted run went on"),
)

DEVICE = (
    Column("device", TEXT, ("device", "name"), "that the run was on: cpu, cuda:0, rocm:0", required=True),
    Column("device_uuid", TEXT, ("device", "uuid"), "of this one device"),
    Column("device_model", TEXT, ("device", "model"), "of the device: what comparisons go by"),
    Column("device_fields", TEXT_MAP, ("device", "fields"), "what the device says of itself: driver, instruction sets"),
)

PLAN = (
    Column("suite", TEXT, ("plan", "suite"), "of shapes; `own` and `files`: the user's"),
    Column("seed", UNSIGNED, ("plan", "seed"), "of inputs and order"),
    Column("threads", INTEGER, ("plan", "settings", "threads"), "of the workers"),
    Column("affinity", INTEGERS, ("plan", "settings", "affinity"), "CPUs that the workers may use"),
    Column("mmap_threshold_bytes", INTEGER, ("plan", "settings", "mmap_threshold_bytes"), "of malloc"),
    Column("trim_threshold_bytes", INTEGER, ("plan", "settings", "trim_threshold_bytes"), "of malloc"),
    Column("huge_pages", FLAG, ("plan", "settings", "huge_pages"), "false: off in the workers"),
    Column("processes", INTEGER, ("plan", "schedule", "processes"), "planned for measuring"),
    Column("blocks_per_process", INTEGER, ("plan", "schedule", "blocks_per_process"), "planned for measuring"),
    Column("cell_time_ms", REAL, ("plan", "schedule", "cell_time_ms"), "how long a cell should last"),
    Column("extra_modes", TEXTS, ("plan", "schedule", "extra_modes"), "measured beside `warm`"),
    Column("target_half_width", REAL, ("plan", "schedule", "target_half_width"), "of intervals, relative; where asked"),
    Column("budget_s", REAL, ("plan", "schedule", "budget_s"), "for reaching that width"),
)

ENVIRONMENT = (
    Column("host", TEXT, ("environment", "host"), "name of the machine"),
    Column("os", TEXT, ("environment", "os"), "operating system"),
    Column("kernel", TEXT, ("environment", "kernel"), "with release and architecture"),
    Column("cpu_model", TEXT, ("environment", "cpu_model"), "as the kernel names it"),
    Column("governor", TEXT, ("environment", "governor"), "of the CPUs' frequency"),
    Column("system_huge_pages", TEXT, ("environment", "transparent_huge_pages"), "the system's mode, in brackets"),
    Column("load_at_start", REAL, ("environment", "load_at_start", 0), "of the last minute"),
    Column("fingerprint", TEXT, ("fingerprint", "digest"), "digest of how the device does its arithmetic"),
    Column("libtorch_version", TEXT, ("environment", "worker", "libtorch"), "of the workers"),
    Column("libtorch", TEXT_MAP, ("environment", "libtorch"), "what LibTorch says of its build and libraries"),
    Column("settings", TEXT_MAP, ("environment", "settings"), "as the workers read them back"),
    Column("build_id", TEXT, ("environment", "worker", "build_id"), "of the workers"),
    Column("build_flags", TEXT, ("environment", "build", "flags"), "of the workers"),
)

RULES = (
    Column("rules_name", TEXT, ("rules", "name"), "as the rules call themselves"),
    Column("rules_sha256", TEXT, ("rules_sha256",), "over all keys"),
    Column("rules_file", TEXT, ("rules_file", "name"), "that was given; NULL: the built-in rules"),
    Column("tolerance", REAL, ("rules", "measurement", "tolerance"), "of comparisons, relative"),
    Column("evidence_run_id", TEXT, ("evidence_source", "id"), "the run whose evidence `ampgate bench` was given"),
)

MEASURING = (
    Column("timed_ns", REAL, ("bench", "timed_ns"), "inside timed sections of mode `warm`, all processes together"),
    Column("wall_ns", REAL, ("bench", "wall_ns"), "of these processes"),
    Column("timed_share", REAL, ("bench", "timed_share"), "the one over the other"),
    Column("last_level_cache_bytes", INTEGER, ("ceilings", "last_level_cache_bytes"), "0: not known"),
    Column("read_gbps", REAL, ("ceilings", "read_gbps", "value"), "GB/s (10^9) that reading reached"),
    Column("write_gbps", REAL, ("ceilings", "write_gbps", "value"), "GB/s that writing reached"),
    Column("copy_gbps", REAL, ("ceilings", "copy_gbps", "value"), "GB/s that copying reached"),
    *(
        Column(
            f"{format_}_matmul_tflops",
            REAL,
            ("ceilings", "matmul_tflops", format_, "value"),
            f"TFLOP/s (10^12) that products in {format_} reached",
        )
        for format_ in ("fp32", "tf32", "fp16", "bf16")
    ),
    Column("answer", TEXTS, ("answer",), "the run's answer, in sentences"),
)


def rows(record: dict[str, Any]) -> Iterator[Row]:
    yield Row(record, {})


RUNS = Table("runs", "a record: one run on one device", (*RUN, *DEVICE, *PLAN, *ENVIRONMENT, *RULES, *MEASURING), rows)
