"""An archive as views of DuckDB."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from archive_query.error import QueryError
from archive_query.index import open_index
from archive_query.views import add_views

SETTINGS = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}  # nothing from the network


@dataclass(frozen=True)
class Archive:
    """`left_out` says why files of the archive are in no view but `files`."""

    connection: duckdb.DuckDBPyConnection
    left_out: dict[str, str]
    records: int

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        return self.connection.sql(query)


@contextmanager
def open_archive(folder: str | Path, rebuild: bool = False) -> Iterator[Archive]:
    """Records that are new or changed are read into the index of the archive first; `rebuild`: all of them."""
    # DuckDB makes it where memory is short, and removes it; a query that is killed before leaves nothing.
    spill = Path(tempfile.gettempdir()) / f"ampgate-query-{secrets.token_hex(8)}"
    with (
        open_index(Path(folder), rebuild) as index,
        duckdb.connect(config={**SETTINGS, "temp_directory": str(spill)}) as connection,
    ):
        try:
            add_views(connection, index)
        except duckdb.Error as error:  # of what this program wrote itself
            raise QueryError(f"the index is damaged: {error}", "read all records again: --rebuild") from error
        yield Archive(connection, index.left_out, len(index.records))
