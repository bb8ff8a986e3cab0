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
            parents = [row.members, *ancestors(row.members, path)]
            parent = parents[-1] if len(parents) > len(path) else None
            for position, column in group:
                try:
                    if parent is not None and has(parent, column.path[-1]):
                        values[position] = column.kind.read(parent[column.path[-1]])
                    elif reason := why_absent(parents, column.path):
                        absent.append((column.name, reason))
                    elif column.required:
                        raise Malformed(f"{pointer(row, column.path)} is missing")
                except ValueError as error:
                    raise Malformed(f"{pointer(row, column.path)} is not {error}") from error
        return values, absent


def has(parent: Any, step: str | int) -> bool:  # noqa: ANN401
    if isinstance(step, int):
        return isinstance(parent, list) and step < len(parent)
    return isinstance(parent, dict) and step in parent


def ancestors(members: dict[str, Any], path: Path) -> Iterator[Any]:
    """The values along the path, as far as it goes. A null is as good as nothing."""
    here: Any = members
    for step in path:
        if not has(here, step) or here[step] is None:
            return
        here = here[step]
        yield here


def why_absent(parents: list[Any], path: Path) -> str | None:
    """`absent` stands in the object that lacks a member, or above it, with the way to the member as its key."""
    missing = len(parents) - 1  # of the path's steps, the first that is not there
    for depth in range(missing, -1, -1):
        parent = parents[depth]
        reasons = parent.get("absent") if isinstance(parent, dict) else None
        if isinstance(reasons, dict):
            key = "/".join(str(step) for step in path[depth : missing + 1])
            if key in reasons:
                return TEXT.read(reasons[key])
    return None


def pointer(row: Row, path: Path) -> str:
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
