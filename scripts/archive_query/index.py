"""The index of an archive: what its records say, as Parquet, so that a query need not read them.

It is never the truth: a file whose size or times changed is read again, and without the index all are. Segments are
folders that appear whole and never change, so readers need no lock but the one that keeps segments from being removed
under them, and a process that is killed leaves at most an unfinished folder behind.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from archive_query.error import EnvironmentProblem
from archive_query.folder import Found, look_into
from archive_query.merge import merge_segments, to_merge
from archive_query.place import READING, UPDATING, index_for, locked, remove_unused
from archive_query.reading import read_all
from archive_query.rows.record import Stamp
from archive_query.rows.segment import UNFINISHED, Segment, Source, remove, segments_in

TRIES = 5
# Nobody holds the other lock for long where it is waited for.
WAITS = {UPDATING: "query: waiting for another one, which reads new records\n", READING: ""}


@dataclass(frozen=True)
class Opened:
    """The records to answer from, the segments that hold their rows, and all files with what is left out of them."""

    records: list[Source]
    segments: list[Segment]
    files: dict[str, Stamp]
    left_out: dict[str, str]


@dataclass
class Contents:
    """What the index holds of the files that were found."""

    live: dict[str, Source] = field(default_factory=dict)  # by file
    segments: list[Segment] = field(default_factory=list)
    dead: list[Segment] = field(default_factory=list)  # nothing in them is live
    missing: list[str] = field(default_factory=list)


@contextmanager
def open_index(archive: Path, rebuild: bool) -> Iterator[Opened]:
    """The archive as it is now. Segments stay as long as this is open."""
    found = look_into(archive)
    if not found.records:
        yield Opened([], [], {}, found.strays)  # and nothing is written into a folder that may be no archive
        return
    index = Index(archive, index_for(archive, found.records))
    if rebuild:
        index.forget()
    for attempt in range(TRIES):
        with index.lock(READING, fcntl.LOCK_SH):
            found = look_into(archive)
            contents = index.contents(found)
            if attempt + 1 == TRIES or not (contents.missing or index.to_merge(contents)):
                changing = dict.fromkeys(contents.missing, "changes while it is read")
                yield opened(found, contents, index.unreadable | changing)
                return
        index.update()


def opened(found: Found, contents: Contents, unreadable: dict[str, str]) -> Opened:
    left_out = found.strays | {file: why for file, why in unreadable.items() if file in found.records}
    records: dict[str, Source] = {}  # by digest
    for file, source in sorted(contents.live.items()):
        if source.problem is not None:
            left_out[file] = source.problem
        elif (first := records.setdefault(source.digest or file, source)) is not source:
            left_out[file] = f"is a copy of {first.file}"
    return Opened(list(records.values()), contents.segments, found.records, dict(sorted(left_out.items())))


class Index:
    def __init__(self, archive: Path, place: Path) -> None:
        self.archive = archive
        self.place = place
        self.unreadable: dict[str, str] = {}
        self.merges = True

    def contents(self, found: Found) -> Contents:
        contents = Contents()
        segments = [current(segment, found) for segment in segments_in(self.place)]
        # The largest first: a merged one stands for those that it was made of.
        for segment in sorted(segments, key=lambda segment: (-len(segment.sources), segment.folder)):
            new = [source for source in segment.sources if source.file not in contents.live]
            contents.live |= {source.file: source for source in new}
            dead = segment.dead + len(segment.sources) - len(new)
            (contents.segments if new else contents.dead).append(Segment(segment.folder, new, dead))
        contents.missing = [file for file in found.records if file not in contents.live and file not in self.unreadable]
        return contents

    def to_merge(self, contents: Contents) -> list[Segment]:
        return to_merge(contents.segments) if self.merges else []

    def update(self) -> None:
        try:
            with self.lock(UPDATING, fcntl.LOCK_EX):
                self.clear_away()
                found = look_into(self.archive)
                sizes = {file: found.records[file].bytes for file in self.contents(found).missing}
                self.unreadable |= read_all(self.archive, sizes, self.place)
                if merged := self.to_merge(self.contents(found)):
                    self.merges = merge_segments(self.place, merged)
                self.remove(self.contents(found).dead)
                remove_unused(self.place)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise EnvironmentProblem(
                f"the index {self.place} cannot be written: {error.strerror or error}",
                "free some space" if full else "remove that folder: it is made again",
            ) from error

    def forget(self) -> None:
        with self.lock(UPDATING, fcntl.LOCK_EX):
            if not self.remove(segments_in(self.place)):
                raise EnvironmentProblem("another query reads the index now", "wait for it to end")

    def clear_away(self) -> None:
        """Whoever wrote these held the lock for updating, and is gone."""
        for folder in self.place.glob(f"{UNFINISHED}*"):
            remove(folder)

    def remove(self, segments: list[Segment]) -> bool:
        """Where someone reads now, they stay."""
        try:
            with self.lock(READING, fcntl.LOCK_EX | fcntl.LOCK_NB):
                for segment in segments:
                    remove(segment.folder)
        except BlockingIOError:
            return False
        return True

    @contextmanager
    def lock(self, name: str, how: int) -> Iterator[None]:
        with locked(self.place / name, how, WAITS[name]):
            yield


def current(segment: Segment, found: Found) -> Segment:
    sources = [source for source in segment.sources if found.records.get(source.file) == source.stamp]
    return Segment(segment.folder, sources, len(segment.sources) - len(sources))
