"""How values of records are read and stored. What is of another type is refused: nothing is guessed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
TIME_OF_DAY = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


@dataclass(frozen=True)
class Kind:
    """`read` raises ValueError with what would have been right."""

    arrow: pa.DataType
    read: Callable[[Any], Any]


def text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise ValueError("a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("Unicode without lone surrogates") from error
    return value


def integer_in(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:  # noqa: ANN401
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"an integer from {low} to {high}")
        return value

    return read


def real(value: Any) -> float:  # noqa: ANN401
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) <= 2**1023:
        return float(value)
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    raise ValueError('a number, "nan", "inf" or "-inf"')


def flag(value: Any) -> bool:  # noqa: ANN401
    if type(value) is not bool:
        raise ValueError("true or false")
    return value


def time_of_day(value: Any) -> datetime:  # noqa: ANN401
    if not isinstance(value, str) or not TIME_OF_DAY.fullmatch(value):
        raise ValueError("a time as 2026-01-31T23:59:59Z")
    try:
        return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError as error:
        raise ValueError("a time as 2026-01-31T23:59:59Z") from error


def decision(value: Any) -> str:  # noqa: ANN401
    """A class, classes of the top k, or an action: as it stands in the record."""
    if type(value) is int:
        return str(value)
    if isinstance(value, list):
        return json.dumps([INTEGER.read(item) for item in value])
    return text(value)


def list_of(kind: Kind) -> Kind:
    def read(value: Any) -> list[Any]:  # noqa: ANN401
        if not isinstance(value, list):
            raise ValueError("an array")
        return [kind.read(item) for item in value]

    return Kind(pa.list_(kind.arrow), read)


def map_of(kind: Kind) -> Kind:
    def read(value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
        if not isinstance(value, dict):
            raise ValueError("an object")
        return [(text(key), kind.read(item)) for key, item in value.items()]

    return Kind(pa.map_(pa.string(), kind.arrow), read)


def object_of(members: dict[str, Kind]) -> Kind:
    """Only these members; those that are not there are NULL."""

    def read(value: Any) -> dict[str, Any]:  # noqa: ANN401
        if not isinstance(value, dict):
            raise ValueError("an object")
        return {key: kind.read(value[key]) if key in value else None for key, kind in members.items()}

    return Kind(pa.struct([(key, kind.arrow) for key, kind in members.items()]), read)


def joined(value: Any) -> str:  # noqa: ANN401
    return ", ".join(TEXTS.read(value))


TEXT = Kind(pa.string(), text)
INTEGER = Kind(pa.int64(), integer_in(-(2**63), 2**63 - 1))
UNSIGNED = Kind(pa.uint64(), integer_in(0, 2**64 - 1))
REAL = Kind(pa.float64(), real)
FLAG = Kind(pa.bool_(), flag)
TIME = Kind(pa.timestamp("us"), time_of_day)
DECISION = Kind(pa.string(), decision)
TEXTS = list_of(TEXT)
INTEGERS = list_of(INTEGER)
REALS = list_of(REAL)
JOINED = Kind(pa.string(), joined)
TEXT_MAP = map_of(TEXT)
INTEGER_MAP = map_of(INTEGER)
