"""Answers SQL about an archive of records. Without SQL it lists what can be asked: views, columns, what they mean.

    scripts/query "SELECT device_model, count(*) AS runs FROM runs GROUP BY ALL"

docs/queries.md has examples. Records that are new or changed are read first, into an index inside the archive.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import duckdb
from archive_query.archive import Archive, open_archive
from archive_query.error import QueryError
from archive_query.output import FORMATS, listing, visible, write

ARCHIVE = Path("results/archive")
MOST_NAMED = 10


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="query", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sql", nargs="?", help="what to ask; several statements are run in order, the last one answers")
    parser.add_argument("--file", metavar="FILE", help="the SQL stands in this file; -: on standard input")
    parser.add_argument("--archive", type=Path, default=ARCHIVE, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--format", choices=FORMATS, help="default: by the name of --out, else a table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the answer goes; default: standard output")
    parser.add_argument("--rebuild", action="store_true", help="read all records again")
    given = parser.parse_args()
    if given.sql is not None and given.file is not None:
        parser.error("give the SQL itself or --file, not both")
    return given


def sql_of(given: argparse.Namespace) -> str | None:
    if given.file is None:
        return given.sql
    try:
        return sys.stdin.read() if given.file == "-" else Path(given.file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{given.file} cannot be read: {error}", "give a file with SQL as --file") from error


def format_of(given: argparse.Namespace) -> str:
    if given.format or given.out is None:
        return given.format or "table"
    ending = given.out.suffix.removeprefix(".")
    return ending if ending in FORMATS else "table"


def answer(archive: Archive, sql: str | None, form: str, out: Path | None) -> None:
    if sql is None and form == "table" and out is None:
        for line in listing(archive.connection):
            print(line)
        return
    try:
        write(archive.connection, "FROM view_columns" if sql is None else sql, form, out)
    except duckdb.Error as error:
        raise QueryError(f"DuckDB says: {error}", "without SQL, this program lists the views and columns") from error


def name_left_out(left_out: dict[str, str]) -> None:
    if not left_out:
        return
    print(f"query: left out, {len(left_out)} of the archive:", file=sys.stderr)
    for file, problem in list(left_out.items())[:MOST_NAMED]:
        print(f"  {visible(file)} {visible(problem)}", file=sys.stderr)
    if len(left_out) > MOST_NAMED:
        print("  ... all of them: SELECT file, problem FROM files WHERE problem IS NOT NULL", file=sys.stderr)


def main() -> int:
    given = arguments()
    sys.stdout.reconfigure(encoding="utf-8")  # as records are, whatever the locale
    try:
        sql = sql_of(given)
        with open_archive(given.archive, given.rebuild) as archive:
            name_left_out(archive.left_out)
            if archive.records == 0:
                print(f"query: there is no record in {given.archive}", file=sys.stderr)
            answer(archive, sql, format_of(given), given.out)
        sys.stdout.flush()
    except QueryError as error:
        print(f"query: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read this wants no more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
