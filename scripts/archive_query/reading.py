"""Reading new records into the index: many at once in processes of worker.py; each batch becomes a segment."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from archive_query.rows.segment import commit, read_files, unfinished
from archive_query.worker import Worker

BATCH_FILES, BATCH_BYTES = 64, 1 << 28
FEW_FILES, FEW_BYTES = 8, 1 << 25  # are read here: a process takes longer to start
PROGRESS_S = 10


def read_all(archive: Path, sizes: dict[str, int], index: Path) -> dict[str, str]:
    """Adds files to the index. Those that cannot be read come back, with the reason."""
    if len(sizes) <= FEW_FILES and sum(sizes.values()) <= FEW_BYTES:
        return read_here(archive, list(sizes), index) if sizes else {}
    batches = deque(in_batches(sizes))
    progress = Progress(len(sizes))
    unreadable: dict[str, str] = {}

    def work() -> None:
        with Worker(archive) as worker:
            while batches:
                try:
                    batch = batches.popleft()
                except IndexError:
                    return
                unreadable.update(read_there(worker, batch, index))
                progress.add(len(batch))

    threads = min(len(batches), len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(threads) as pool:
        try:
            for thread in [pool.submit(work) for _ in range(threads)]:
                thread.result()
        except BaseException:
            batches.clear()  # the threads end after their batch, which is kept
            raise
    return unreadable


def in_batches(sizes: dict[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    total = 0
    for file, size in sizes.items():
        if batch and (len(batch) == BATCH_FILES or total + size > BATCH_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size
    if batch:
        yield batch


def read_here(archive: Path, files: list[str], index: Path) -> dict[str, str]:
    with unfinished(index) as folder:
        read = read_files(archive, files, folder)
        commit(folder, read.sources)
    return read.unreadable


def read_there(worker: Worker, files: list[str], index: Path) -> dict[str, str]:
    """Where the process dies (a file may ask for more memory than there is), each file is tried alone."""
    with unfinished(index) as folder:
        read = worker.read(files, folder)
        if read is not None:
            commit(folder, read.sources)
            return read.unreadable
    if len(files) == 1:
        return {files[0]: "ended the process that read it: too large for this machine's memory?"}
    unreadable: dict[str, str] = {}
    for file in files:
        unreadable |= read_there(worker, [file], index)
    return unreadable


class Progress:
    """On standard error, where it takes long."""

    def __init__(self, files: int) -> None:
        self.files, self.done, self.said = files, 0, time.monotonic()
        print(f"query: reading {files} new or changed files of the archive, once", file=sys.stderr)

    def add(self, files: int) -> None:
        self.done += files
        if time.monotonic() - self.said >= PROGRESS_S:
            self.said = time.monotonic()
            print(f"query: {self.done} of {self.files} are read", file=sys.stderr)
