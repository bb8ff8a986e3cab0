"""All that the page shows of one record."""

from __future__ import annotations

from report_page.markup import join, tag
from report_page.plot import Json
from report_page.record import Record
from report_page.sections.answer import answer_section
from report_page.sections.decisions import decisions_section
from report_page.sections.fields import environment_section, fingerprint_section, rules_section
from report_page.sections.formats import formats_section
from report_page.sections.margins import margins_section
from report_page.sections.operators import findings_section, operators_section
from report_page.sections.plots import errors_section, ratio_section, roofline_section
from report_page.sections.recommended import recommended_section
from report_page.sections.reproducers import reproducers_section
from report_page.sections.samples import samples_data, samples_section
from report_page.sections.telemetry import telemetry_section
from report_page.sections.training import training_section
from report_page.sections.trials import trials_section

SECTIONS = (
    answer_section,
    recommended_section,
    ratio_section,
    margins_section,
    formats_section,
    roofline_section,
    errors_section,
    decisions_section,
    training_section,
    samples_section,
    telemetry_section,
    trials_section,
    findings_section,
    operators_section,
    fingerprint_section,
    rules_section,
    environment_section,
    reproducers_section,
)


def details(record: Record) -> Json:
    sections = [make(record) for make in SECTIONS]
    return {
        "html": join([section.markup() for section in sections]),
        "links": join([tag("a", section.link, href=f"#{section.name}") for section in sections]),
        "plots": {plot.name: plot.data() for section in sections for plot in section.plots},
        "samples": samples_data(record),
    }
