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

# The number of records; speed-ups by device and precision; a trial over time; what became slower; calls by operator.
QUERIES = {
    "count": "SELECT count(*) FROM runs",
    "speed-ups": """
        SELECT device_model, precision, count(*) AS n, median(speedup_over_fp32) AS speedup FROM measurements
        WHERE mode = 'warm' AND NOT coalesce(speedup_not_lowered, false) GROUP BY ALL ORDER BY ALL""",
    "history": """
        SELECT started, time_ns, time_low_ns, time_high_ns FROM measurements
        WHERE trial = 'softmax/256x1024/cast-bf16' ORDER BY started""",
    "changes": """
        SELECT record, trial, time_ns / lag(time_ns) OVER (PARTITION BY device_model, trial, mode ORDER BY started) AS r
        FROM measurements QUALIFY r > 1.1 ORDER BY r DESC LIMIT 20""",
    "operators": """
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


def measure(archive: Path, bases: list[Path], count: int, rounds: int) -> dict[str, float]:
    """Seconds of whole commands: all records read, one of them new, and queries with nothing new; then sizes in MB."""
    grow(archive, bases, sum(1 for _ in archive.glob("*/*.json")), count)
    found = {"read all": asked(archive, "--rebuild", "SELECT 1").seconds}
    costs = {name: [asked(archive, sql) for _ in range(rounds)] for name, sql in QUERIES.items()}
    grow(archive, bases, count, count + 1)
    found["one new"] = asked(archive, "SELECT 1").seconds
    found |= {name: statistics.median(cost.seconds for cost in of_query) for name, of_query in costs.items()}
    found["memory"] = max(cost.peak_mb for of_query in costs.values() for cost in of_query)
    found["archive"] = sum(path.stat().st_size for path in archive.glob("*/*.json")) / 1e6
    found["index"] = sum(path.stat().st_size for path in (archive / ".query").rglob("*") if path.is_file()) / 1e6
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", type=Path, nargs="+", metavar="RECORD", help="default: those of ./results/archive")
    parser.add_argument("--records", type=int, nargs="+", default=[10, 100, 1000, 10_000], help="sizes of archives")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the archives go; default: with the temporary files")
    given = parser.parse_args()
    bases = given.like or sorted(Path("results/archive").glob("*/*.json"))
    if not bases:
        sys.exit("benchmark_query: there is no record to vary\n  run scripts/ampgate run, or give --like RECORD")
    needed = 1.1 * max(given.records) * statistics.mean(base.stat().st_size for base in bases)
    folder = given.folder or Path(tempfile.gettempdir())
    if shutil.disk_usage(folder).free < needed:
        sys.exit(f"benchmark_query: {needed / 1e9:.1f} GB are needed in {folder}\n  give another --folder")
    print(f"seconds, median of {given.rounds}, and MB; varied from {len(bases)} records; {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory(prefix="ampgate-benchmark-", dir=folder) as archive:
        for number, count in enumerate(sorted(given.records)):
            found = measure(Path(archive), bases, count, given.rounds)
            if number == 0:
                print("".join(f"{head:>10}" for head in ("records", *found)))
            print("".join(f"{value:10.4g}" for value in (count, *found.values())), flush=True)


if __name__ == "__main__":
    main()
