"""Makes one HTML page of records, which loads nothing (docs/report.md)."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from report_page.choices import choices_of, find_ampgate
from report_page.error import ENVIRONMENT, ReportError
from report_page.markup import visible
from report_page.page import MARK, page
from report_page.record import Record, read_record

DEFAULT = Path("report.html")
HEAD_BYTES = 200


def read_all(paths: list[Path], ampgate: Path | None) -> list[Record]:
    """Each record once, whatever its names."""
    records: dict[str, Record] = {}
    files: dict[str, Path] = {}
    for path in paths:
        record = read_record(path)
        if record.digest in records:
            known = records[record.digest].file_name
            print(f"report: {visible(str(path))} is the same record as {visible(known)}", file=sys.stderr)
        records.setdefault(record.digest, record)
        files.setdefault(record.digest, path)
    if ampgate is None:
        return list(records.values())
    choices = choices_of(ampgate, list(files.values()))
    return [replace(record, choices=choices.get(digest, [])) for digest, record in records.items()]


def check_target(target: Path) -> None:
    """Nothing but an earlier report is overwritten."""
    shown = visible(str(target))
    if target.is_dir():
        raise ReportError(f"{shown} is a folder", f"give a file: --out {shown}/report.html")
    if not target.parent.is_dir():
        raise ReportError(f"{visible(str(target.parent))} is no folder", "make it first, or give another --out")
    if target.exists() and not (target.is_file() and is_report(target)):
        raise ReportError(f"{shown} is there already and is no report", "give another --out, or move it away")


def is_report(target: Path) -> bool:
    with target.open("rb") as file:
        return MARK.encode() in file.read(HEAD_BYTES)


def write(target: Path, text: str) -> None:
    """Beside its place first, so that there is the whole page or none."""
    aside = None
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".report-", suffix=".html", delete=False) as file:
            aside = Path(file.name)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~umask())
        aside.replace(target)
    except OSError as error:
        if aside:
            aside.unlink(missing_ok=True)
        raise ReportError(
            f"{visible(str(target))} cannot be written: {error.strerror}", "give another --out", ENVIRONMENT
        ) from error


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def main() -> int:
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("records", metavar="RECORD", nargs="+", type=Path, help="a record, as `ampgate run` writes it")
    parser.add_argument("--out", metavar="FILE.html", default=DEFAULT, type=Path, help=f"default: {DEFAULT}")
    parser.add_argument(
        "--ampgate", metavar="PROGRAM", type=Path, help="the ampgate whose recommendations are shown; default: this one"
    )
    options = parser.parse_args()
    try:
        check_target(options.out)
        records = read_all(options.records, options.ampgate or find_ampgate())
        write(options.out, page(records))
    except ReportError as error:
        print(f"report: {error}", file=sys.stderr)
        return error.code
    print(f"Report: {visible(str(options.out))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
