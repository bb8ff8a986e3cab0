"""Tables, and the controls that filter their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from report_page.markup import Content, Markup, escaped, tag


@dataclass(frozen=True)
class Column:
    """`choices`: the rows can be filtered by the values of this column."""

    title: str
    number: bool = False
    choices: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Cell:
    """`choice` is what the row is filtered by, where that is not what is shown; `title` says more on hovering."""

    content: Content
    choice: str | None = None
    title: str | None = None


Row = Sequence[Content | Cell]


def table(name: str, columns: Sequence[Column], rows: Sequence[Row], *, filtered: bool = False) -> Markup:
    """`name` is the table's id. Where nothing is in it, say so instead."""
    head = tag("thead", tag("tr", [tag("th", column.title, scope="col", class_=css(column)) for column in columns]))
    body = tag("tbody", [tag("tr", body_cells(columns, row)) for row in rows])
    made = tag("div", tag("table", head, body, id=name), class_="scroll", tabindex=0, role="region", aria_label=name)
    return Markup(controls(name, columns, rows) + made) if filtered else made


def body_cells(columns: Sequence[Column], row: Row) -> Iterable[Markup]:
    for index, (column, given) in enumerate(zip(columns, row, strict=True)):
        cell = given if isinstance(given, Cell) else Cell(given)
        choice = choice_of(cell) if column.choices else None
        if index == 0:
            yield tag("th", breakable(cell.content), scope="row", title=cell.title, data_choice=choice)
        else:
            yield tag("td", cell.content, class_=css(column), title=cell.title, data_choice=choice)


def breakable(content: Content) -> Content:
    """Ids of trials are long, and best read when they break between their parts."""
    if isinstance(content, Markup) or not isinstance(content, str):
        return content
    return Markup(escaped(content).replace("/", "/<wbr>"))


def css(column: Column) -> str | None:
    return "number" if column.number else "wide" if column.wide else None


def choice_of(cell: Cell) -> str:
    return cell.choice if cell.choice is not None else str(cell.content)


def controls(name: str, columns: Sequence[Column], rows: Sequence[Row]) -> Markup:
    parts = [tag("label", "Filter ", tag("input", type="search", class_="find", placeholder="words that a row has"))]
    for index, column in enumerate(columns):
        if not column.choices:
            continue
        given = (row[index] for row in rows)
        known = dict.fromkeys(choice_of(cell if isinstance(cell, Cell) else Cell(cell)) for cell in given)
        options = [tag("option", "all", value=""), *(tag("option", value, value=value) for value in known)]
        parts.append(tag("label", f"{column.title} ", tag("select", options, data_column=index)))
    count = tag("output", f"{len(rows)} of {len(rows)} rows")
    return tag("form", parts, count, class_="filter", data_table=name)
