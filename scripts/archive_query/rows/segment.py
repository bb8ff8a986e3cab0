"""A segment of the index: the rows of some records as Parquet files, in a folder that is there whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from archive_query.rows.record import NoRecord, Stamp, Unreadable, read_file, record_in
from archive_query.rows.table import Malformed, Table
from archive_query.rows.tables import TABLES

UNFINISHED = ".unfinished-"  # how folders are called while they are written, or removed
SOURCES = "sources.json"


class Source(NamedTuple):
    """A file that was read: `key` is that of its rows; a file that is no record has a problem and no rows."""

    key: int
    file: str
    stamp: Stamp
    digest: str | None
    problem: str | None


class Segment(NamedTuple):
    folder: Path
    sources: list[Source]
    dead: int = 0  # sources that no longer count

    def parquet(self, table: Table) -> Path:
        return self.folder / f"{table.name}.parquet"


class Read(NamedTuple):
    sources: list[Source]
    unreadable: dict[str, str]  # by file, why; not kept, since another user may read it


def read_files(archive: Path, files: Iterable[str], folder: Path) -> Read:
    """Reads files and writes the rows of those that are records to `folder`."""
    rows = {table.name: Rows(table) for table in TABLES}
    read = Read([], {})
    for file in files:
        key = secrets.randbits(63)
        try:
            content, stamp = read_file(archive / file)
            source, record = source_of(key, file, stamp, content)
            read.sources.append(source)
            if record is not None:
                for name, values in record.items():
                    rows[name].add(key, values)
        except Unreadable as problem:
            read.unreadable[file] = str(problem)
        except MemoryError:
            read.unreadable[file] = "needs more memory than there is"
    for name, of_table in rows.items():
        pq.write_table(of_table.arrow(), folder / f"{name}.parquet", compression="zstd")
    return read


def source_of(key: int, file: str, stamp: Stamp, content: bytes) -> tuple[Source, dict[str, list[list[Any]]] | None]:
    """With the values of all tables, unless it is no record."""
    try:
        record = record_in(content)
        values = {table.name: table.values(record) for table in TABLES}
    except NoRecord as problem:
        return Source(key, file, stamp, None, str(problem)), None
    except Malformed as problem:
        return Source(key, file, stamp, None, f"is not as the schema of records says: {problem}"), None
    return Source(key, file, stamp, record["digest"], None), values


class Rows:
    """Of several records, by column: Arrow takes columns whole."""

    def __init__(self, table: Table) -> None:
        self.schema = table.stored
        self.columns: list[list[Any]] = [[] for _ in self.schema]

    def add(self, key: int, values: list[list[Any]]) -> None:
        for column, more in zip(self.columns, ([key] * len(values[0]), *values), strict=True):
            column.extend(more)

    def arrow(self) -> pa.Table:
        arrays = [pa.array(column, kind) for column, kind in zip(self.columns, self.schema.types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


@contextmanager
def unfinished(index: Path) -> Iterator[Path]:
    """A folder for a segment. What is not committed goes away again."""
    folder = index / f"{UNFINISHED}{secrets.token_hex(8)}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def commit(folder: Path, sources: list[Source]) -> None:
    """From here on it is a segment. All is on disk before, so that a power cut leaves no half of it."""
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    (folder / SOURCES).write_text(json.dumps({"bytes": sizes, "sources": sources}))
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    folder.rename(folder.with_name(secrets.token_hex(8)))


def segments_in(index: Path) -> list[Segment]:
    """Damaged ones are as good as none: their files are read again."""
    segments = []
    for folder in sorted(path for path in index.iterdir() if path.is_dir() and not path.name.startswith(UNFINISHED)):
        try:
            document = json.loads((folder / SOURCES).read_text())
            if all((folder / name).stat().st_size == size for name, size in document["bytes"].items()):
                sources = [Source(key, file, Stamp(*stamp), *rest) for key, file, stamp, *rest in document["sources"]]
                segments.append(Segment(folder, sources))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return segments


def remove(folder: Path) -> None:
    """First out of sight, then away: killed in between, it is an unfinished one."""
    hidden = folder
    if not folder.name.startswith(UNFINISHED):
        hidden = folder.with_name(f"{UNFINISHED}{folder.name}")
        folder.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)
