"""The view `operators`: what a trial ran, and in which types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archive_query.rows.kinds import FLAG, INTEGER, JOINED, TEXT
from archive_query.rows.table import Column, Row, Table, items
from archive_query.rows.trials import NAMES, trials_of

OPERATOR_COLUMNS = (
    Column("operator", TEXT, ("operator", "name"), "aten::mm, ...", required=True),
    Column("inputs", JOINED, ("operator", "inputs"), "types that it took, with commas between"),
    Column("outputs", JOINED, ("operator", "outputs"), "types that it gave, with commas between"),
    Column("count", INTEGER, ("operator", "count"), "calls of it in these types", required=True),
    Column("grad", FLAG, ("operator", "grad"), "true: grad mode was on"),
    Column("stayed_in_fp32", FLAG, ("operator", "not_lowered"), "although 16 bit was asked for"),
)


def rows(record: dict[str, Any]) -> Iterator[Row]:
    for place, trial in trials_of(record):
        for where, operator in items(trial.get("operators", []), f"{place}/operators"):
            yield Row({"trial": trial, "operator": operator}, {"trial": place, "operator": where})


OPERATORS = Table("operators", "an operator that a trial ran, in these types", (*NAMES, *OPERATOR_COLUMNS), rows)
