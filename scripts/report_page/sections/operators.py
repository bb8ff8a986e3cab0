"""Which operators ran, in which types, and what was found on edge inputs."""

from __future__ import annotations

from collections import Counter

from report_page.look import badge
from report_page.markup import Content, paragraph, tag
from report_page.record import Record, Trial, find
from report_page.section import Section, absent
from report_page.table import Cell, Column, table
from report_page.words import number, plural


def operators_section(record: Record) -> Section:
    columns = [
        Column("trial"),
        Column("precision", choices=True),
        Column("operator"),
        Column("takes"),
        Column("gives"),
        Column("times a call", number=True),
        Column("lowered", choices=True),
    ]
    rows = [row for trial in record.judged for row in operator_rows(trial)]
    silent = [trial for trial in record.judged if not trial.json.get("operators")]
    content: list[Content] = [
        paragraph(
            "What the call ran, as LibTorch's dispatcher saw it; equal rows of a trial are counted together. Kernels: "
            "a record names operators, and the operator behind each workspace, but not the kernels of the device."
        ),
    ]
    if rows:
        content.append(table("all-operators", columns, rows, filtered=True))
    else:
        content.append(absent("Operators", "no trial of this record has a list of them."))
    if silent:
        reasons = Counter(trial.why("operators") for trial in silent)
        told = "; ".join(f"{plural(count, 'trial')}: {reason}" for reason, count in reasons.most_common())
        content.append(paragraph(f"Without operators: {told}."))
    content += [tag("h3", "Workspaces"), workspaces(record)]
    return Section("operators", "Operators", "Operators and kernels", content, folded=True)


def operator_rows(trial: Trial) -> list[list[Content | Cell]]:
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for operator in trial.json.get("operators", []):
        lowered = "no" if operator.get("not_lowered") else "-"
        key = (operator["name"], ", ".join(operator["inputs"]), ", ".join(operator["outputs"]), lowered)
        counts[key] += operator["count"]
    return [
        [
            Cell([trial.case, tag("small", trial.shape)], title=trial.id),
            trial.precision,
            name,
            takes,
            gives,
            str(count),
            lowered,
        ]
        for (name, takes, gives, lowered), count in counts.items()
    ]


def workspaces(record: Record) -> Content:
    rows = [
        [trial.id, name, str(size)]
        for trial in record.judged
        for name, size in (trial.find("measurement", "memory", "peak_parts_bytes", "workspaces") or {}).items()
    ]
    if not rows:
        return absent("Workspaces", "memory was not measured, or no operator asked for more than its outputs.")
    columns = [Column("trial"), Column("operator"), Column("bytes at the peak", number=True)]
    return table("workspaces", columns, rows)


def findings_section(record: Record) -> Section:
    findings = [(trial, finding) for trial in record.judged for finding in trial.json.get("findings", [])]
    content: list[Content] = []
    if findings:
        text = "Findings are about edge inputs, and about times that are mostly overhead; they refuse nothing."
        columns = [
            Column("trial"),
            Column("input", choices=True),
            Column("shape"),
            Column("finding", choices=True),
            Column("in words", wide=True),
        ]
        rows = [
            [trial.id, finding["input"], finding["shape"], finding["verdict"], finding["text"]]
            for trial, finding in findings
        ]
        content = [paragraph(text), table("all-findings", columns, rows, filtered=True)]
    else:
        content = [absent("Findings", "edge inputs showed nothing, or were not run.")]
    content += [tag("h3", "FP32 islands"), islands(record)]
    return Section("findings", "Findings", "Findings and FP32 islands", content)


def islands(record: Record) -> Content:
    asked = [trial for trial in record.trials if trial.find("islands")]
    needed = [trial for trial in asked if not trial.needless]
    if not needed:
        because = "autocast alone passed wherever they were asked for." if asked else "nothing was searched for."
        return absent("FP32 islands", because)
    columns = [
        Column("trial"),
        Column("verdict"),
        Column("healed"),
        Column("regions in FP32"),
        Column("of", number=True),
        Column("largest value", number=True),
        Column("how it was searched", wide=True),
    ]
    rows = []
    for trial in needed:
        found = trial.find("islands")
        regions = ", ".join(found.get("regions", [])) or "-"
        healed = {True: "yes", False: "no", None: "-"}[found.get("healed")]
        how = ", ".join(str(found[key]) for key in ("criterion", "search", "stopped") if key in found)
        rows.append([trial.id, badge(trial.verdict), healed, regions, str(len(found.get("all_regions", []))),
                     number(find(found, "largest_value")), how])  # fmt: skip
    return table("islands", columns, rows)
