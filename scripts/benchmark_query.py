"""How long queries take, and how that grows with the archive. Started by scripts/benchmark.

Archives are made of varied copies of real records: other ids, times of day, devices, and measured numbers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

QUERY = Path(__file__).with_name("query")
MEASURED = re.compile(r'"(?:median|value|interval)":\[?(\d[\d.e+-]*)(?:,(\d[\d.e+-]*))?')
DEVICES = 40
NOTHING = "0" * 64

QUERIES = {
    "count of runs": "SELECT count(*) FROM runs",
    "speed-up by device and precision": """
        SELECT device_model, precision, count(*) AS n, median(speedup_over_fp32) AS speedup FROM measurements
        WHERE mode = 'warm' AND NOT coalesce(speedup_not_lowered, false) GROUP BY ALL ORDER BY ALL""",
    "history of one trial": """
        SELECT started, time_ns, time_low_ns, time_high_ns FROM measurements
        WHERE trial = 'softmax/256x1024/cast-bf16' ORDER BY started""",
    "against the run before": """
        SELECT record, trial, time_ns / lag(time_ns) OVER (PARTITION BY device_model, trial, mode ORDER BY started) AS r
        FROM measurements QUALIFY r > 1.1 ORDER BY r DESC LIMIT 20""",
    "calls by operator and type": """
        SELECT operator, inputs, sum(count) AS calls FROM operators GROUP BY ALL ORDER BY calls DESC LIMIT 20""",
}


class Cost(NamedTuple):
    seconds: float
    peak_mb: float


def asked(archive: Path, *arguments: str) -> Cost:
    began = time.perf_counter()
    with subprocess.Popen(
        [QUERY, "--archive", archive, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{QUERY} {' '.join(arguments)} failed")
    return Cost(time.perf_counter() - began, usage.ru_maxrss / 1024)


@cache
def pieces_of(base: Path) -> tuple[list[str], dict[str, str]]:
    """The text of a record, cut around its measured numbers (every second piece), and what else is varied."""
    text = base.read_text()
    record = json.loads(text)
    pieces, at = [], 0
    for match in MEASURED.finditer(text):
        for group in (1, 2):
            if match[group] is not None:
                pieces += [text[at : match.start(group)], match[group]]
                at = match.end(group)
    pieces.append(text[at:])
    return pieces, {key: record[key] for key in ("id", "digest")} | {"model": record["device"]["model"]}


def write_record(archive: Path, base: Path, number: int) -> None:
    pieces, of_base = pieces_of(base)
    chance = random.Random(number)
    factor = math.exp(chance.gauss(0, 0.05))
    numbers = (repr(float(piece) * factor * math.exp(chance.gauss(0, 0.01))) for piece in pieces[1::2])
    varied = [piece for pair in zip(pieces[::2], numbers, strict=False) for piece in pair]
    when = datetime(2026, 1, 1) + timedelta(minutes=7 * number)
    run_id = f"{when:%Y%m%dT%H%M%SZ}-{number:08x}"
    text = "".join([*varied, pieces[-1]])
    text = text.replace(of_base["id"], run_id).replace(of_base["model"], f"{of_base['model']} {number % DEVICES}")
    text = re.sub(r'"started":"[^"]*"', f'"started":"{when:%Y-%m-%dT%H:%M:%SZ}"', text, count=1)
    text = text.replace(of_base["digest"], NOTHING, 1)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (archive / "device" / f"{run_id}.json").write_text(text.replace(NOTHING, digest, 1))


def grow(archive: Path, bases: list[Path], begin: int, end: int) -> None:
    (archive / "device").mkdir(exist_ok=True)
    numbers = range(begin, end)
    with ProcessPoolExecutor() as pool:
        of_record = [bases[number % len(bases)] for number in numbers]
        list(pool.map(write_record, [archive] * len(numbers), of_record, numbers, chunksize=8))


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(archive: Path, bases: list[Path], count: int, rounds: int) -> dict[str, float]:
    """Seconds, but for sizes."""
    made = sum(1 for _ in archive.glob("*/*.json"))
    grow(archive, bases, made, count)
    found = {"reading all records, once": asked(archive, "--rebuild", "SELECT 1").seconds}
    peak_mb = 0.0
    for name, sql in QUERIES.items():
        costs = [asked(archive, sql) for _ in range(rounds)]
        found[name] = statistics.median(cost.seconds for cost in costs)
        peak_mb = max(peak_mb, *(cost.peak_mb for cost in costs))
    grow(archive, bases, count, count + 1)
    found["count of runs, one record new"] = asked(archive, QUERIES["count of runs"]).seconds
    found["peak memory of a query, MB"] = peak_mb
    found["archive, MB"] = sum(path.stat().st_size for path in archive.glob("*/*.json")) / 1e6
    found["index, MB"] = bytes_in(archive / ".query") / 1e6
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", type=Path, nargs="+", metavar="RECORD", help="default: those of ./results/archive")
    parser.add_argument("--records", type=int, nargs="+", default=[10, 100, 1000, 10_000], help="sizes of archives")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--folder", type=Path, help="where the archives go; default: with the temporary files"
    )
    given = parser.parse_args()
    bases = given.like or sorted(Path("results/archive").glob("*/*.json"))
    if not bases:
        sys.exit("benchmark_query: there is no record to vary\n  run scripts/ampgate run, or give --like RECORD")
    needed = 1.1 * max(given.records) * statistics.mean(base.stat().st_size for base in bases)
    folder = given.folder or Path(tempfile.gettempdir())
    if shutil.disk_usage(folder).free < needed:
        sys.exit(f"benchmark_query: {needed / 1e9:.1f} GB are needed in {folder}\n  give another --folder")
    columns: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="ampgate-benchmark-", dir=folder) as archive:
        for count in sorted(given.records):
            columns[count] = measure(Path(archive), bases, count, given.rounds)
            print(f"measured {count} records", file=sys.stderr)
    print(
        f"seconds of a whole command, median of {given.rounds}; copies of {len(bases)} records; {os.cpu_count()} CPUs"
    )
    print(f"{'records':34}" + "".join(f"{count:>10}" for count in columns))
    for name in next(iter(columns.values())):
        print(f"{name:34}" + "".join(f"{column[name]:10.3g}" for column in columns.values()))


if __name__ == "__main__":
    main()
