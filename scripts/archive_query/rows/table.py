"""From records to rows: each column says where its value stands, and what is absent keeps the record's reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from archive_query.rows.kinds import TEXT, TEXT_MAP, Kind

Path = tuple[str | int, ...]


class Malformed(Exception):
    """A value of another type than records have, with its JSON pointer."""


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    path: Path
    says: str
    required: bool = False


class Row(NamedTuple):
    """`members` are what the paths of the columns start from; `places` says where each stands in the record."""

    members: dict[str, Any]
    places: dict[str, str]


ABSENT = Column("absent", TEXT_MAP, (), "why columns are NULL, by their names, where the record gives a reason")


@dataclass(frozen=True)
class Table:
    name: str
    says: str
    columns: tuple[Column, ...]
    rows: Callable[[dict[str, Any]], Iterator[Row]]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.name, column.kind.arrow) for column in (*self.columns, ABSENT)])

    @cached_property
    def stored(self) -> pa.Schema:
        """With the key of the file that a row comes from."""
        return self.schema.insert(0, pa.field("source", pa.int64()))

    @cached_property
    def by_parent(self) -> list[tuple[Path, list[tuple[int, Column]]]]:
        """Columns of one object are read together: it is searched for once."""
        groups: dict[Path, list[tuple[int, Column]]] = {}
        for position, column in enumerate(self.columns):
            groups.setdefault(column.path[:-1], []).append((position, column))
        return list(groups.items())

    def values(self, record: dict[str, Any]) -> list[list[Any]]:
        """Of each column, `absent` at the end, the values of all rows."""
        found: list[list[Any]] = [[] for _ in range(len(self.columns) + 1)]
        for row in self.rows(record):
            values, absent = self.values_of(row)
            for column, value in zip(found, values, strict=False):
                column.append(value)
            found[-1].append(absent)
        return found

    def values_of(self, row: Row) -> tuple[list[Any], list[tuple[str, str]]]:
        values: list[Any] = [None] * len(self.columns)
        absent: list[tuple[str, str]] = []
        for path, group in self.by_parent:
            parents = along(row, path)
            is_there = len(parents) > len(path)
            reason = None if is_there else why_absent(row, parents, path)
            for position, column in group:
                step = column.path[-1]
                if is_there and has(parents[-1], step, row, path):
                    try:
                        values[position] = column.kind.read(parents[-1][step])
                    except ValueError as error:
                        raise Malformed(f"{pointer(row, column.path)} is not {error}") from error
                elif found := why_absent(row, parents, column.path) if is_there else reason:
                    absent.append((column.name, found))
                elif column.required:
                    raise Malformed(f"{pointer(row, column.path)} is missing")
        return values, absent


def has(parent: Any, step: str | int, row: Row, path: Path) -> bool:  # noqa: ANN401
    if isinstance(step, int):
        if not isinstance(parent, list):
            raise Malformed(f"{pointer(row, path)} is not an array")
        return step < len(parent)
    if not isinstance(parent, dict):
        raise Malformed(f"{pointer(row, path)} is not an object")
    return step in parent


def along(row: Row, path: Path) -> list[Any]:
    """The row's members, and the values along the path, as far as it goes. A null is as good as nothing."""
    found: list[Any] = [row.members]
    for depth, step in enumerate(path):
        if not has(found[-1], step, row, path[:depth]) or found[-1][step] is None:
            break
        found.append(found[-1][step])
    return found


def why_absent(row: Row, parents: list[Any], path: Path) -> str | None:
    """`absent` stands in the object that lacks a member, or above it, with the way to the member as its key."""
    missing = len(parents) - 1  # of the path's steps, the first that is not there
    for depth in range(missing, -1, -1):
        parent = parents[depth]
        reasons = parent.get("absent") if isinstance(parent, dict) else None
        if reasons is None:
            continue
        if not isinstance(reasons, dict):
            raise Malformed(f"{pointer(row, path[:depth])}/absent is not an object")
        key = "/".join(map(str, path[depth : missing + 1]))
        if key in reasons:
            try:
                return TEXT.read(reasons[key])
            except ValueError as error:
                raise Malformed(f"{pointer(row, (*path[:depth], 'absent', key))} is not {error}") from error
    return None


def pointer(row: Row, path: Path) -> str:
    if not path:
        return ""
    first, *rest = path
    return "".join([row.places.get(str(first), f"/{first}"), *(f"/{escaped(step)}" for step in rest)])


def items(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401
    """The objects of an array, each with its place."""
    if not isinstance(value, list):
        raise Malformed(f"{where} is not an array")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise Malformed(f"{where}/{number} is not an object")
        yield f"{where}/{number}", item


def escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
