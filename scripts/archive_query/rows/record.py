"""One file of an archive: the record in it, or why it is none."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from record_migration import VERSION, is_read, migrate, refusal

LARGEST_BYTES = 1 << 30
DIGEST = re.compile(r"[0-9a-f]{64}")


class NoRecord(Exception):
    """Why a file is no record, whoever reads it."""


class Unreadable(Exception):
    """Why this process, now, could not read a file."""


class Stamp(NamedTuple):
    """Two of one stamp are taken for the same: whatever writes to a file moves ctime, even where mtime is set back."""

    bytes: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def read_file(path: Path) -> tuple[bytes, Stamp]:
    """A FIFO or a device would block or never end: they are not opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable("is no file")
        with path.open("rb") as file:
            stamp = Stamp.of(os.fstat(file.fileno()))
            if stamp.bytes > LARGEST_BYTES:
                raise NoRecord("is larger than 1 GiB")
            return file.read(), stamp
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def record_in(content: bytes) -> dict[str, Any]:
    if not content:
        raise NoRecord("is empty")
    try:
        document = json.loads(content.decode(), parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        raise NoRecord(f"is no UTF-8: byte {error.start}") from error
    except RecursionError as error:
        raise NoRecord("is nested too deeply") from error
    except ValueError as error:
        raise NoRecord(f"is no JSON: {error}") from error
    if not isinstance(document, dict) or "ampgate_record" not in document:
        raise NoRecord("is no record: it has no key ampgate_record")
    version = document["ampgate_record"]
    if not is_read(version):
        raise NoRecord(f"is a record of {refusal(version)}; this program reads versions 1 to {VERSION}")
    if not fits_its_digest(content, document.get("digest")):
        raise NoRecord("does not fit its own digest: it was altered after it was written")
    if version < VERSION:
        migrate(document)
    return document


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def fits_its_digest(content: bytes, digest: object) -> bool:
    """The digest is the SHA-256 of the bytes with its own digits as zeros."""
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        return False
    return hashlib.sha256(content.replace(digest.encode(), b"0" * len(digest), 1)).hexdigest() == digest
