"""Small segments become larger ones, so that a query opens few files however the records came."""

from __future__ import annotations

from pathlib import Path

import duckdb

from archive_query.paths import parquet_files, quoted
from archive_query.rows.segment import Segment, commit, unfinished
from archive_query.rows.tables import TABLES


def to_merge(segments: list[Segment]) -> list[Segment]:
    """All up to the largest one that is no larger than the smaller ones together, and those that are half dead.

    What is left doubles in size from one to the next: n records are in at most log2(n) + 1 segments, and each was
    written as many times.
    """
    ordered = sorted(segments, key=lambda segment: len(segment.sources))
    smaller, upto = 0, 0
    for position, segment in enumerate(ordered):
        if position > 0 and len(segment.sources) <= smaller:
            upto = position + 1
        smaller += len(segment.sources)
    return ordered[:upto] + [segment for segment in ordered[upto:] if segment.dead > len(segment.sources)]


def merge_segments(index: Path, segments: list[Segment]) -> bool:
    """Whether it could be done: where not, a query is slower, no more."""
    sources = [source for segment in segments for source in segment.sources]
    try:
        with unfinished(index) as folder, duckdb.connect() as connection:
            connection.execute("CREATE TABLE live (source BIGINT)")
            connection.execute("INSERT INTO live SELECT unnest(?)", [[source.key for source in sources]])
            for table in TABLES:
                rows = parquet_files(segment.parquet(table) for segment in segments)
                target = quoted(str(folder / f"{table.name}.parquet"))
                connection.execute(
                    f"COPY (FROM {rows} SEMI JOIN live USING (source)) TO {target} (FORMAT parquet, COMPRESSION zstd)"
                )
            commit(folder, sources)
    except (duckdb.Error, OSError):
        return False
    return True
