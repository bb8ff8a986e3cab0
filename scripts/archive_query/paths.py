"""Paths in SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def parquet_files(paths: Iterable[Path]) -> str:
    """As a table function. DuckDB takes names for patterns, so what means something in them is put in brackets."""
    names = [quoted(re.sub(r"([*?[])", r"[\1]", str(path))) for path in paths]
    return f"read_parquet([{', '.join(names)}])"
