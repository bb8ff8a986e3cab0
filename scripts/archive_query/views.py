"""The views of an archive, and what their columns mean."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from archive_query.index import Opened
from archive_query.paths import parquet_files
from archive_query.rows.table import ABSENT, Table
from archive_query.rows.tables import RUNS, TABLES

RECORD = ("record", "file of the record, in the archive")
# Columns of the run that every view has.
HEADS = ("run_id", "started", "device", "device_model")
FILES = {
    "file": (pa.string(), "in the archive"),
    "bytes": (pa.int64(), "its size, of what may be a record"),
    "problem": (pa.string(), "why it is in no other view; NULL: it is in them"),
}


def add_views(connection: duckdb.DuckDBPyConnection, index: Opened) -> None:
    connection.execute("CREATE SCHEMA internal")
    live = {"source": [source.key for source in index.records], "record": [source.file for source in index.records]}
    add_table(connection, "internal.live", pa.table(live, pa.schema({"source": pa.int64(), "record": pa.string()})))
    heads = ", ".join(HEADS)
    connection.execute(
        f"CREATE TABLE internal.heads AS SELECT source, record, {heads} FROM {rows_of(connection, RUNS, index)} "
        "JOIN internal.live USING (source)"
    )
    for table in TABLES:
        shown = RECORD[0] if table is RUNS else ", ".join((RECORD[0], *(f"heads.{name}" for name in HEADS)))
        connection.execute(
            f"CREATE VIEW {table.name} AS SELECT {shown}, rows.* EXCLUDE (source) "
            f"FROM {rows_of(connection, table, index)} rows JOIN internal.heads heads USING (source)"
        )
    add_files(connection, index)
    add_descriptions(connection)


def add_files(connection: duckdb.DuckDBPyConnection, index: Opened) -> None:
    names = sorted(index.files.keys() | index.left_out.keys())
    sizes = [index.files[name].bytes if name in index.files else None for name in names]
    problems = [index.left_out.get(name) for name in names]
    schema = pa.schema({name: kind for name, (kind, _) in FILES.items()})
    add_table(connection, "files", pa.table([names, sizes, problems], schema=schema))


def rows_of(connection: duckdb.DuckDBPyConnection, table: Table, index: Opened) -> str:
    """What to select from: the index, or nothing."""
    if index.segments:
        return parquet_files(segment.parquet(table) for segment in index.segments)
    empty = f"internal.no_{table.name}"
    connection.execute(f"DROP TABLE IF EXISTS {empty}")
    add_table(connection, empty, table.stored.empty_table())
    return empty


def add_table(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    connection.register("given", rows)
    connection.execute(f"CREATE TABLE {name} AS FROM given")
    connection.unregister("given")


def add_descriptions(connection: duckdb.DuckDBPyConnection) -> None:
    said = {("files", name): says for name, (_, says) in FILES.items()}
    of_run = {column.name: column.says for column in RUNS.columns if column.name in HEADS}
    for table in TABLES:
        said[table.name, RECORD[0]] = RECORD[1]
        said |= {(table.name, name): says for name, says in of_run.items()}
        said |= {(table.name, column.name): column.says for column in (*table.columns, ABSENT)}
    views = [*(table.name for table in TABLES), "files"]
    rows = [
        (view, name, kind, said[view, name])
        for view in views
        for name, kind, *_ in connection.execute(f"DESCRIBE {view}").fetchall()
    ]
    names = ("view_name", "column_name", "type", "description")
    add_table(connection, "view_columns", pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))
