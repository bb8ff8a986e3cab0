"""What ampgate prints, read back: tables as rows, and whether a cell shows a number of the record."""

from __future__ import annotations

import itertools
import re

UNITS = {
    **{"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9},
    **{"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    **{"GFLOP/s": 1e-3, "TFLOP/s": 1.0, "GB/s": 1.0},
    **{"x": 1.0, "%": 0.01, "": 1.0},
}
UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True) if unit)
NUMBER = re.compile(rf"(?P<number>[-+]?(?P<digits>\d+(?:\.\d+)?(?:e[-+]\d+)?))(?: ?(?P<unit>{UNIT})(?![\w/]))?")


def table(text: str, first_head: str) -> list[dict[str, str]]:
    """Rows by heads, of the table whose first line begins with this head. Empty where there is none."""
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines) if re.match(rf"{re.escape(first_head)}(  |$)", line)]
    if not begins:
        return []
    block: list[str] = []
    for line in lines[begins[0] :]:
        if not line or (block and not re.search(r"\S  +\S", line)):
            break
        block.append(line)
    width = max(map(len, block))
    block = [line.ljust(width) for line in block]
    cells = [[line[begin:end].strip() for begin, end in columns(block)] for line in block]
    heads = cells[0]
    return [dict(zip(heads, row, strict=True)) for row in cells[1:]]


def columns(block: list[str]) -> list[tuple[int, int]]:
    """Between them every line has two blanks. A part that has no head belongs to the column on its right."""
    blank = [all(line[place] == " " for line in block) for place in range(len(block[0]))]
    gaps = [match.span() for match in re.finditer("1{2,}", "".join("1" if is_blank else "0" for is_blank in blank))]
    edges = [0, *(end for begin, end in gaps if end < len(blank)), len(blank)]
    spans: list[tuple[int, int]] = []
    begin = 0
    for at, end in itertools.pairwise(edges):
        if block[0][at:end].strip():
            spans.append((begin, end))
            begin = end
    return spans


def shows(text: str, value: float) -> bool:
    """Whether the first number in the text, with its unit, is the value rounded to the digits that stand there."""
    match = NUMBER.search(text)
    assert match, f"no number in {text!r}"
    unit = UNITS[match["unit"] or ""]
    mantissa, _, exponent = match["digits"].partition("e")
    step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(float(match["number"]) * unit - value) <= (0.5 + 1e-6) * step * unit


def numbers_in(text: str) -> list[str]:
    """Each number with its unit."""
    return [match.group() for match in NUMBER.finditer(text)]
