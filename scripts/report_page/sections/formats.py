"""FP16 beside BF16: what each costs in accuracy, time and memory, case by case."""

from __future__ import annotations

from report_page import words
from report_page.estimate import interval
from report_page.look import badge
from report_page.markup import Content, paragraph, tag
from report_page.record import Json, Record, Trial
from report_page.section import Section, absent
from report_page.table import Cell, Column, table

WAYS = ("autocast", "cast", "islands")


def formats_section(record: Record) -> Section:
    trials = {(trial.row, trial.precision): trial for trial in record.judged}
    rows = []
    for row in record.rows:
        for way in WAYS:
            fp16, bf16 = trials.get((row, f"{way}-fp16")), trials.get((row, f"{way}-bf16"))
            if fp16 and bf16:
                rows.append(beside(row, way, fp16, bf16))
    if not rows:
        content: Content = absent("FP16 against BF16", "no case of this record ran in both.")
    else:
        columns = [
            Column("case", choices=True),
            Column("by", choices=True),
            Column("FP16"),
            Column("margin", number=True),
            Column("BF16"),
            Column("margin", number=True),
            Column("time FP16 : BF16", number=True),
            Column("in words", wide=True),
            Column("peak memory FP16", number=True),
            Column("BF16", number=True),
        ]
        text = "A time ratio above 1 means that FP16 takes longer. Both ran in the same blocks."
        content = [paragraph(text), table("fp16-bf16", columns, rows, filtered=True)]
    return Section("formats", "FP16 : BF16", "FP16 against BF16, way by way", content)


def beside(row: tuple[str, str], way: str, fp16: Trial, bf16: Trial) -> list[Content | Cell]:
    ratio: Json | None = fp16.measurement.get("fp16_to_bf16")
    if ratio:
        between = tag("small", interval(ratio, words.ratio))
        time = [[words.ratio(ratio["value"]), between], ratio["in_words"]]
    else:
        time = ["-", tag("small", fp16.why("measurement", "fp16_to_bf16"))]
    return [
        Cell([row[0], tag("small", row[1])], choice=row[0]),
        way,
        *(part for trial in (fp16, bf16) for part in (badge(trial.verdict), words.number(trial.margin))),
        *time,
        *(words.data_size(trial.peak_bytes) if trial.peak_bytes is not None else "-" for trial in (fp16, bf16)),
    ]
