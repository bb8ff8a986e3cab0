"""What the record says first: its own sentences, how many trials have which verdict, and what needs a look."""

from __future__ import annotations

from collections import Counter

from report_page.look import badge
from report_page.markup import Markup, bullets, code, paragraph, tag
from report_page.record import Record, Trial
from report_page.section import Section, absent
from report_page.table import Cell, Column, table
from report_page.words import plural

QUIET = ("pass", "measured")


def answer_section(record: Record) -> Section:
    lines = record.find("answer")
    content = [
        paragraph(facts(record), class_="facts"),
        tag("div", bullets(lines), class_="answer") if lines else absent("An answer in words", "its run made none."),
        verdict_counts(record),
        *attention(record),
    ]
    return Section("answer", "Answer", "The answer", content)


def facts(record: Record) -> list[str | Markup]:
    libtorch = record.find("environment", "libtorch", "version") or record.find("environment", "worker", "libtorch")
    words = f"{record.model} ({record.device_name}), {record.day}, suite {record.find('plan', 'suite')}, seed "
    words += f"{record.find('plan', 'seed')}, LibTorch {libtorch}, ampgate {record.find('run', 'ampgate')}. Record "
    return [words, code(record.id), f", {plural(len(record.judged), 'trial')} of {plural(len(record.rows), 'case')}."]


def verdict_counts(record: Record) -> Markup:
    """Precisions by verdicts, and what the measurements came to."""
    numerics = Counter((trial.precision, trial.verdict) for trial in record.judged)
    measured = Counter((trial.precision, trial.measured) for trial in record.judged if trial.measured)
    verdicts = list(dict.fromkeys(trial.verdict for trial in record.judged))
    outcomes = list(dict.fromkeys(trial.measured for trial in record.judged if trial.measured))
    columns = [Column("precision")]
    columns += [Column(f"numerics: {verdict}", number=True) for verdict in verdicts]
    columns += [Column(f"time: {outcome}", number=True) for outcome in outcomes]
    rows = [
        [
            precision,
            *(str(numerics[precision, verdict] or "-") for verdict in verdicts),
            *(str(measured[precision, outcome] or "-") for outcome in outcomes),
        ]
        for precision in record.precisions
    ]
    return table("counts", columns, rows)


def attention(record: Record) -> list[Markup]:
    odd = [trial for trial in record.judged if {trial.verdict, trial.measured} - {*QUIET, None}]
    if not odd:
        return [paragraph("Nothing needs a look: every trial passed, and whatever was timed was measured.")]
    columns = [Column("trial"), Column("numerics"), Column("measurement"), Column("why", wide=True)]
    rows = [
        [
            Cell(trial.id),
            badge(trial.verdict),
            badge(trial.measured) if trial.measured else Cell("-", title=trial.why("measurement")),
            reasons(trial),
        ]
        for trial in odd
    ]
    return [tag("h3", f"What needs a look: {plural(len(odd), 'trial')}"), table("attention", columns, rows)]


def reasons(trial: Trial) -> list[Markup]:
    told = [trial.reason, trial.find("measurement", "reason"), first_bad(trial)]
    return [paragraph(line) for line in told if line]


def first_bad(trial: Trial) -> str | None:
    """Where a NaN or an infinity comes from."""
    bad = trial.find("explanation", "first_bad")
    if not bad:
        return None
    where = bad.get("operator") or bad.get("tensor") or bad["class"]
    region = f" in {bad['region']}" if bad.get("region") else ""
    return f"First bad value: {where}{region} ({bad['class']}): {bad['text']}"
