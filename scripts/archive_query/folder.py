"""What lies in an archive: files that may be records, and what has no place there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from archive_query.error import QueryError
from archive_query.rows.record import Stamp

# What runs keep beside their records: journals, logs, checkpoints, and a record that is being written.
BESIDE_RECORDS = (".journal.jsonl", ".json.new", ".log")
CHECKPOINTS = ".checkpoints"


class Found(NamedTuple):
    """`records` by their paths inside the archive; `strays` are the paths of what is not read, with the reason."""

    records: dict[str, Stamp]
    strays: dict[str, str]


def look_into(archive: Path) -> Found:
    found = Found({}, {})
    for entry in entries(archive, archive, found):
        if entry.is_dir():
            look_into_device(archive, Path(entry.path), found)
        else:
            found.strays[entry.name] = "lies beside the devices' folders: records are <device>/<date>-<id>.json"
    return found


def look_into_device(archive: Path, folder: Path, found: Found) -> None:
    for entry in entries(archive, folder, found):
        name = f"{folder.name}/{entry.name}"
        if entry.is_dir():
            if CHECKPOINTS not in entry.name:
                found.strays[name] = "is a folder in a device's folder"
        elif entry.name.endswith(".json"):
            try:
                found.records[name] = Stamp.of(entry.stat())
            except OSError as error:
                found.strays[name] = f"cannot be read: {error.strerror}"
        elif not entry.name.endswith(BESIDE_RECORDS):
            found.strays[name] = "is no record: its name does not end in .json"


def entries(archive: Path, folder: Path, found: Found) -> Iterator[os.DirEntry[str]]:
    """Sorted; hidden ones are left alone."""
    try:
        with os.scandir(folder) as scanned:
            seen = sorted((entry for entry in scanned if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except FileNotFoundError as error:
        raise QueryError(f"there is no archive {archive}", "give the folder of records as --archive") from error
    except NotADirectoryError as error:
        raise QueryError(f"{archive} is a file", "give the folder of records as --archive") from error
    except OSError as error:
        if folder == archive:
            raise QueryError(f"{archive} cannot be read: {error.strerror}", "ask its owner for the right") from error
        found.strays[f"{folder.name}/"] = f"cannot be read: {error.strerror}"
        return
    for entry in seen:
        shown = os.fsencode(entry.name).decode(errors="backslashreplace")
        if shown == entry.name:
            yield entry
        else:
            found.strays[shown if folder == archive else f"{folder.name}/{shown}"] = "has a name that is no UTF-8"
