"""Where the index of an archive lies, and the locks beside it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import record_migration

from archive_query.error import EnvironmentProblem

HIDDEN = ".query"
UPDATING, READING = "updating.lock", "reading.lock"
KEPT_UNUSED_S = 30 * 24 * 3600


def index_for(archive: Path, files: Iterable[str]) -> Path:
    """The folder of the index, with its locks.

    Its name is made of the sources that decide what is in it: another version of them has another index.
    """
    problems = []
    for folder in places(archive, files):
        index = folder / layout()
        try:
            index.mkdir(parents=True, exist_ok=True)
            for name in (UPDATING, READING):
                with suppress(BlockingIOError), locked(index / name, fcntl.LOCK_SH | fcntl.LOCK_NB):
                    os.utime(index / name)
        except OSError as error:
            problems.append(f"{folder}: {error.strerror}")
        else:
            return index
    raise EnvironmentProblem(
        f"no place for an index of the archive ({'; '.join(problems)})", "free some space, or set XDG_CACHE_HOME"
    )


def places(archive: Path, files: Iterable[str]) -> Iterator[Path]:
    """In the archive where this user may write, so that all users share it, else in the user's cache."""
    if any(looks_like_record(archive / file) for file in files):
        yield archive / HIDDEN
    # Not Path.expanduser, which fails where there is no home.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    yield Path(cache) / "ampgate" / "query" / hashlib.sha256(bytes(archive.resolve())).hexdigest()[:16]


def looks_like_record(path: Path) -> bool:
    """Enough to say that the folder is an archive: into another one nothing is written."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return b'"ampgate_record"' in file.read(256)
    except OSError:
        return False


def layout() -> str:
    digest = hashlib.sha256()
    migration = [Path(record_migration.__file__), record_migration.steps_file()]
    for path in [*sorted((Path(__file__).parent / "rows").glob("*.py")), *migration]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def locked(path: Path, how: int, while_waiting: str = "") -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if how & fcntl.LOCK_NB:
                raise
            sys.stderr.write(while_waiting)
            fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def remove_unused(index: Path) -> None:
    """Indexes of other versions of this program that nobody used for a month."""
    for other in index.parent.iterdir():
        try:
            if other != index and time.time() - (other / READING).stat().st_mtime > KEPT_UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)
        except OSError:
            continue
