"""Rules, environment, fingerprint: what is read name by name."""

from __future__ import annotations

import json
from collections.abc import Iterator

from report_page.markup import Content, code, paragraph, tag
from report_page.record import Json, Record
from report_page.section import Section, absent
from report_page.table import Column, table
from report_page.words import percent, plural, time

FIELDS = [Column("field"), Column("value", wide=True)]


def flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Objects by the path of their members; lists and values as they are."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from flat(member, f"{name}/{key}" if name else key)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fields(name: str, value: object) -> Content:
    return table(name, FIELDS, [[tag("code", key), shown] for key, shown in flat(value)])


def rules_section(record: Record) -> Section:
    rules = record.find("rules")
    origin: list[Content] = [f"Rules “{rules['name']}”, SHA-256 ", code(record.find("rules_sha256"))]
    if record.find("rules_file"):
        origin += [", from ", code(record.find("rules_file", "name"))]
    content: list[Content] = [paragraph(origin, ".")]
    previous = record.find("rules_previous")
    relaxed = record.find("rules_relaxed")
    if relaxed:
        columns = [Column("rule that accepts more"), Column("before"), Column("now")]
        rows = [[one["rule"], *(shown(one, key) for key in ("before", "now"))] for one in relaxed]
        content += [tag("h3", f"Relaxed since {previous['record']}"), table("relaxed", columns, rows)]
    elif previous:
        before = code(previous["record"])
        content.append(paragraph("Nothing is accepted that the rules of ", before, ", the record before, refused."))
    content.append(tag("details", tag("summary", "All rules"), fields("rules-fields", rules)))
    return Section("rules", "Rules", "Rules", content)


def shown(relaxed: dict[str, object], key: str) -> str:
    return json.dumps(relaxed[key], ensure_ascii=False) if key in relaxed else "not there"


def environment_section(record: Record) -> Section:
    run, bench = record.find("run"), record.find("bench") or {}
    phases = ", ".join(f"{phase['name']} {time(phase['wall_time_ns'])}" for phase in run["phases"])
    processes = plural(len(bench.get("processes", [])), "process")
    measured = f"{processes} measured." if bench else "Nothing was measured."
    spent = f" {percent(bench['timed_share'])} of phase 2 was inside timed sections." if "timed_share" in bench else ""
    parts = ("run", "device", "plan", "environment", "evidence_source")
    content = [
        paragraph("Started as ", code(run["command_line"]), "."),
        paragraph(f"{phases}. {measured}{spent}"),
        [
            tag("details", tag("summary", part.replace("_", " ")), fields(f"fields-{part}", record.find(part)))
            for part in parts
            if record.find(part)
        ],
    ]
    return Section("environment", "Environment", "Environment", content)


def fingerprint_section(record: Record) -> Section:
    """How the device does its arithmetic: a probe a row."""
    found = record.find("fingerprint")
    if not found:
        because = "its run took none; runs of the suites standard and large do, and the command ampgate fingerprint."
        content = absent("Fingerprint", because)
        return Section("fingerprint", "Fingerprint", "Fingerprint", content)
    columns = [Column("probe"), Column("what it asks", wide=True), Column("answer", wide=True)]
    rows = [[probe["name"], probe["asks"], answer(probe)] for probe in found["probes"]]
    digest = paragraph("Digest over all raw values: ", code(found["digest"]))
    return Section("fingerprint", "Fingerprint", "Fingerprint", [digest, table("probes", columns, rows)], folded=True)


def answer(probe: Json) -> str:
    return probe.get("words") or "absent: " + "; ".join(probe["absent"].values())
