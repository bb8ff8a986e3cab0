"""A record and its trials: every number of the page is taken from here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from report_page.error import ReportError
from report_page.markup import visible
from report_page.read import read
from report_page.words import Number

Json = dict[str, Any]
OPENS_GATE = ("pass", "suspect")
BASELINE = "fp32"
NOT_NAMED = "the record does not hold it"


def find(node: object, *path: str) -> Any:  # noqa: ANN401
    """What stands at the path, or None."""
    for key in path:
        if not isinstance(node, dict) or key not in node:
            return None
        node = node[key]
    return node


def why_absent(node: object, *path: str) -> str:
    """The reason that the record gives, at the nearest place that it says something about."""
    reason = NOT_NAMED
    for depth, key in enumerate(path):
        if not isinstance(node, dict):
            break
        absent = node.get("absent", {})
        reason = absent.get("/".join(path[depth:])) or absent.get(key) or reason
        node = node.get(key)
    return reason


@dataclass(frozen=True)
class Trial:
    """One trial of a record, with what is asked of it by name."""

    json: Json

    @property
    def id(self) -> str:
        return self.json["id"]

    @property
    def case(self) -> str:
        return self.json["case"]

    @property
    def shape(self) -> str:
        return self.json["shape"]["name"]

    @property
    def row(self) -> tuple[str, str]:
        """Case and shape: what the precisions are compared within."""
        return self.case, self.shape

    @property
    def precision(self) -> str:
        return self.json["precision"]

    @property
    def verdict(self) -> str:
        return self.json["verdict"]

    @property
    def reason(self) -> str:
        return self.json["reason"]

    @property
    def opens_gate(self) -> bool:
        return self.verdict in OPENS_GATE

    @property
    def needless(self) -> bool:
        """An islands-* trial where autocast alone passed: nothing was to be run."""
        return find(self.json, "islands", "needed") is False

    @property
    def not_lowered(self) -> bool:
        return self.json.get("not_lowered", False)

    @property
    def kernel_error(self) -> Json:
        return find(self.json, "accuracy", "kernel_error") or {}

    @property
    def margin(self) -> Number | None:
        return self.kernel_error.get("margin")

    @property
    def precision_cost(self) -> Json:
        return find(self.json, "accuracy", "precision_cost") or {}

    @property
    def measurement(self) -> Json:
        return self.json.get("measurement", {})

    @property
    def measured(self) -> str | None:
        """The verdict of the measurement."""
        return self.measurement.get("verdict")

    @property
    def time(self) -> Json | None:
        return self.measurement.get("time_ns")

    @property
    def speedup(self) -> Json | None:
        """Absent also where autocast left every operator in FP32, since that is no speed of 16 bit."""
        ratio = self.measurement.get("speedup_over_fp32")
        return None if ratio is None or ratio.get("not_lowered") else ratio

    @property
    def no_speedup_because(self) -> str:
        if find(self.measurement, "speedup_over_fp32", "not_lowered"):
            return "not lowered: autocast left every operator in FP32"
        return self.why("measurement", "speedup_over_fp32")

    @property
    def peak_bytes(self) -> int | None:
        return find(self.measurement, "memory", "peak_bytes")

    def find(self, *path: str) -> Any:  # noqa: ANN401
        return find(self.json, *path)

    def why(self, *path: str) -> str:
        """Why this is not in the record."""
        reason = why_absent(self.json, *path)
        if reason != NOT_NAMED:
            return reason
        if path[0] == "measurement" and self.measurement.get("reason"):
            return f"{self.measured}: {self.measurement['reason']}"
        return reason if self.opens_gate else f"{self.verdict}: {self.reason}"


@dataclass(frozen=True)
class Record:
    """A file that was read and found right."""

    file_name: str
    json: Json
    started: datetime
    choices: list[Json] | None = None  # what `ampgate decide` says; None where it was not asked

    @property
    def id(self) -> str:
        return self.json["id"]

    @property
    def digest(self) -> str:
        return self.json["digest"]

    @property
    def device_name(self) -> str:
        return self.json["device"]["name"]

    @property
    def model(self) -> str:
        return self.json["device"].get("model") or self.device_name

    @property
    def device_key(self) -> str:
        """The same for all records of one device."""
        return self.json["device"].get("uuid") or f"{self.device_name} {self.model}"

    @property
    def day(self) -> str:
        return f"{self.started:%Y-%m-%d %H:%M} UTC"

    @cached_property
    def trials(self) -> list[Trial]:
        return [Trial(trial) for trial in self.json["trials"]]

    @cached_property
    def by_id(self) -> dict[str, Trial]:
        return {trial.id: trial for trial in self.trials}

    @cached_property
    def judged(self) -> list[Trial]:
        """All but islands that nothing needed."""
        return [trial for trial in self.trials if not trial.needless]

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys(trial.row for trial in self.judged))

    @cached_property
    def precisions(self) -> list[str]:
        return list(dict.fromkeys(trial.precision for trial in self.judged))

    @property
    def measures(self) -> bool:
        return "bench" in self.json

    def find(self, *path: str) -> Any:  # noqa: ANN401
        return find(self.json, *path)


def read_record(path: Path) -> Record:
    document = read(path)
    started = document["run"]["started"]
    try:
        moment = datetime.strptime(started, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError as error:
        raise ReportError(
            f"{visible(str(path))}: at /run/started: {started} is no time of day", "use the original"
        ) from error
    return Record(os.fsencode(path.name).decode(errors="replace"), document, moment)
