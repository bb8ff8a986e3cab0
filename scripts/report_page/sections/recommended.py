"""FP16, BF16 or FP32 for each case: the fastest way in each, what it costs, and which is recommended, and why."""

from __future__ import annotations

from collections import Counter

from report_page import words
from report_page.estimate import interval
from report_page.look import badge
from report_page.markup import Content, code, paragraph, tag
from report_page.record import Json, Record, find
from report_page.section import Section, absent
from report_page.table import Cell, Column, table

TITLE = "FP16, BF16 or FP32"
NOT_MADE = "it is the work of ampgate, which is not built here; the command ampgate report makes the page with it."
TEXT = (
    "The fastest way (autocast, conversion, FP32 islands) that may run in each type. Recommended is only what is shown "
    "to be faster, beyond the tolerance of the rules; between two types that are not shown to differ the one that "
    "changes fewer decisions, then BF16. The same as "
)


def recommended_section(record: Record) -> Section:
    if record.choices is None:
        return Section("recommended", "Recommended", TITLE, absent("A recommendation", NOT_MADE))
    columns = [
        Column("case", choices=True),
        Column("recommended", choices=True),
        Column("why", wide=True),
        Column("FP16"),
        Column("BF16"),
        Column("time FP16 : BF16", number=True),
    ]
    rows = [row(entry) for entry in record.choices]
    said = paragraph(TEXT, code("ampgate decide"), " prints.")
    content = [counted(record.choices), said, table("recommendations", columns, rows, filtered=True)]
    return Section("recommended", "Recommended", TITLE, content)


def counted(choices: list[Json]) -> Content:
    """ "Recommended: cast-bf16 in 12 cases, fp32 in 19 cases." """
    counts = Counter(answer(entry) for entry in choices)
    told = ", ".join(f"{name} in {words.plural(count, 'case')}" for name, count in counts.items())
    return paragraph(f"Recommended: {told}.")


def answer(entry: Json) -> str:
    return entry["recommendation"].get("precision", "none")


def row(entry: Json) -> list[Content | Cell]:
    ratio = entry.get("fp16_to_bf16")
    time = [words.ratio(ratio["value"]), tag("small", interval(ratio, words.ratio))] if ratio else "-"
    return [
        Cell([entry["case"], tag("small", entry["shape"])], choice=entry["case"]),
        Cell(tag("strong", answer(entry)), choice=answer(entry)),
        entry["recommendation"]["in_words"],
        *(way(entry, kind) for kind in ("fp16", "bf16")),
        time if ratio else Cell("-", title=find(entry, "absent", "fp16_to_bf16")),
    ]


def way(entry: Json, kind: str) -> Content:
    """What the type's fastest way is, and costs; why there is none, else."""
    if kind not in entry:
        return ["may not run", tag("small", find(entry, "absent", kind))]
    chosen = entry[kind]
    lines: list[Content] = [tag("span", chosen["precision"], class_="unbroken"), " ", badge(chosen["verdict"])]
    return [*lines, [tag("span", line, class_="line-of-cell") for line in costs(chosen)]]


def costs(chosen: Json) -> list[str]:
    lines = []
    if "margin" in chosen:
        lines.append(f"margin {words.number(chosen['margin'])}")
    if "decisions" in chosen:
        changed = chosen["decisions"].get("flips", 0) + chosen["decisions"].get("lost", 0)
        lines.append(f"{changed} of {chosen['decisions'].get('rows', '-')} decisions changed")
    lines += quality(chosen)
    if ratio := chosen.get("speedup_over_fp32"):
        lines.append(f"{words.ratio(ratio['value'])} fp32's speed ({interval(ratio, words.ratio)})")
    if "memory_to_fp32" in chosen:
        lines.append(f"{words.ratio(chosen['memory_to_fp32'])} its peak memory")
    if "islands" in chosen:
        lines.append(f"{len(chosen['islands'])} of {words.plural(len(chosen['all_regions']), 'region')} stay in FP32")
    return lines


def quality(chosen: Json) -> list[str]:
    """On the case's own data, beside fp32's."""
    measures = (("accuracy", ("decisions", "accuracy"), ()), ("RMSE", ("regression",), ("rmse",)))
    lines = []
    for name, place, member in measures:
        if find(chosen, *place, "trial", *member) is not None:
            values = [words.six_digits(find(chosen, *place, whose, *member)) for whose in ("trial", "baseline")]
            lines.append(f"{name} {values[0]} (fp32 {values[1]})")
    outcome = find(chosen, "training_quality", "outcome")
    return lines + ([f"trains {outcome}"] if outcome else [])
