"""Answers as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from archive_query.error import QueryError

FORMATS = ("table", "csv", "json", "parquet")
NO_ANSWER = QueryError("this SQL asks for nothing", "end it with a SELECT")
NUMBERS = (int, float, Decimal)


def write(connection: duckdb.DuckDBPyConnection, sql: str, form: str, out: Path | None) -> None:
    """The answer goes to a file, which appears when it is whole, or to standard output."""
    if out is None:
        write_to_output(connection, sql, form)
        return
    aside = out.resolve().with_name(f"{out.name}.{os.getpid()}.new")
    try:
        if out.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        aside.touch()
        try:
            write_to_file(connection, sql, form, aside)
            aside.replace(out)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise QueryError(f"{out} cannot be written: {error.strerror}", "give another --out") from error


def write_to_output(connection: duckdb.DuckDBPyConnection, sql: str, form: str) -> None:
    if form in ("table", "json"):
        for line in lines(connection, sql, form):
            print(line)
        return
    if form == "parquet" and sys.stdout.isatty():
        raise QueryError("Parquet is nothing for a terminal", "give --out FILE")
    with tempfile.TemporaryDirectory(prefix="ampgate-query-") as folder:
        file = Path(folder) / "answer"
        write_to_file(connection, sql, form, file)
        with file.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)


def write_to_file(connection: duckdb.DuckDBPyConnection, sql: str, form: str, file: Path) -> None:
    if form in ("table", "json"):
        with file.open("w", encoding="utf-8") as written:
            written.writelines(f"{line}\n" for line in lines(connection, sql, form))
        return
    answer = connection.sql(sql)
    if answer is None:
        raise NO_ANSWER
    if form == "csv":
        answer.write_csv(str(file))
    else:
        answer.write_parquet(str(file))


def lines(connection: duckdb.DuckDBPyConnection, sql: str, form: str) -> Iterator[str]:
    answer = connection.execute(sql)
    if answer is None or answer.description is None:
        raise NO_ANSWER
    return json_lines(answer) if form == "json" else table_lines(answer)


def rows_of(answer: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := answer.fetchmany(10_000):
        yield from rows


def json_lines(answer: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """An array with an object a line. What is not finite is a word, as in records."""
    names = [name for name, *_ in answer.description]
    if len(set(names)) != len(names):
        raise QueryError("two columns of the answer have one name", "give them names: SELECT a AS first, ...")
    separator = "["
    for row in rows_of(answer):
        yield separator + json.dumps(dict(zip(names, map(plain, row), strict=True)), ensure_ascii=False)
        separator = ","
    yield "]" if separator == "," else "[]"


def plain(value: Any) -> Any:  # noqa: ANN401
    """What JSON has no word for in other words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def table_lines(answer: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Numbers have six digits here; all of them are in the other formats."""
    heads = [visible(name) for name, *_ in answer.description]
    rows = list(rows_of(answer))
    right = [all(isinstance(value, NUMBERS) or value is None for value in column) for column in zip(*rows, strict=True)]
    cells = [[shown(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, *cells):
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right or [False] * len(heads), strict=True)
        )
        yield "  ".join(padded).rstrip()


def shown(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (dict, list, tuple)):
        return visible(json.dumps(plain(value), ensure_ascii=False))
    return visible(str(value))


def visible(text: str) -> str:
    """Names come from records: nothing in them moves the cursor or breaks the table."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def listing(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Each view with its rows and columns."""
    columns = [
        (view, name, shortened(kind), says)
        for view, name, kind, says in connection.execute("FROM view_columns").fetchall()
    ]
    names, kinds = (max(len(row[place]) for row in columns) for place in (1, 2))
    for view in dict.fromkeys(row[0] for row in columns):
        ((count,),) = connection.execute(f"SELECT count(*) FROM {view}").fetchall()
        yield f"{view} ({count} rows)"
        for of_view, name, kind, says in columns:
            if of_view == view:
                yield f"  {name:{names}}  {kind:{kinds}}  {says}"


def shortened(kind: str) -> str:
    return re.sub(r"^STRUCT\(.*\)", "STRUCT(...)", kind)
