"""Texts of a record that try to be more than text: nothing of them runs, loads, or becomes part of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import opened
from conftest import page_of, report
from made_records import Json, record, sealed
from playwright.sync_api import Browser

ATTACKS = (
    "<script>window.attacked = 1</script>",
    "<img src=x onerror='window.attacked = 1'>",
    "</script><script>window.attacked = 1</script>",
    "</style></title><svg onload=window.attacked=1>",
    "\" onmouseover=\"window.attacked = 1\" x=\"",
    "<a href='javascript:window.attacked = 1'>click</a>",
    "<!--<script>",
    "$plotly ${script} var(--text) &lt;b&gt; ../../etc/passwd C:\\x",
)  # fmt: skip
KEPT = {"id", "verdict", "precision", "digest", "started", "finished", "rules_sha256", "plan_sha256", "uuid",
        "command", "mode", "name", "phases", "kind", "tie_rule", "effect", "input", "operators", "bound_by",
        "stopped_by", "meaning",
        "output_check", "extra_modes"}  # fmt: skip


def attacked(value: Any, attack: str, key: str = "") -> Any:  # noqa: ANN401
    """Every text that the schema leaves free is the attack, with its name so that none is twice."""
    if isinstance(value, dict):
        return {name: attacked(one, attack, name) for name, one in value.items()}
    if isinstance(value, list):
        return [attacked(one, attack, key) for one in value]
    return f"{attack} {key}" if isinstance(value, str) and value not in ("", "nan") and key not in KEPT else value


def hostile(attack: str, **made: Any) -> Json:  # noqa: ANN401
    changed = attacked(record(**made), attack)
    changed["device"]["name"] = changed["plan"]["device"] = attack
    changed["id"] = changed["run"]["id"] = f"{attack}{made.get('seed', 1)}"
    changed["trials"][0]["operators"] = [{"name": attack, "inputs": [attack], "outputs": [attack], "count": 1}]
    changed["trials"][1]["measurement"]["absent"] = {attack: attack}
    changed["ceilings"]["matmul_tflops"][attack] = {"value": 0.5, "samples": 1}
    return changed


def hostile_ampgate(folder: Path, attack: str, *records: Json) -> Path:
    """The real one refuses such records: their rules are none."""
    way = {"precision": attack, "verdict": attack, "margin": attack, "islands": [attack], "all_regions": [attack]}
    said = {"precision": attack, "in_words": attack}
    absent = {"bf16": attack, "fp16_to_bf16": attack}
    entry = {"case": attack, "shape": attack, "fp16": way, "absent": absent, "recommendation": said}
    entries = [{**entry, "record_digest": json.loads(sealed(made))["digest"]} for made in records]
    (folder / "entries.json").write_text(json.dumps(entries))
    program = folder / "ampgate"
    program.write_text(f"#!/bin/sh\ncat '{folder / 'entries.json'}'\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("attack", [" ".join(ATTACKS), *(pytest.param(one, marks=pytest.mark.deep) for one in ATTACKS)])
def test_text_stays_text(browser: Browser, tmp_path: Path, attack: str) -> None:
    records = [hostile(attack, started=f"2026-11-{day}T00:00:00Z", seed=day) for day in (10, 11)]
    given = ("--ampgate", hostile_ampgate(tmp_path, attack, *records))
    with opened(browser, page_of(tmp_path, *records, options=given)) as page:
        page.scroll_through()
        page.page.locator("#choose-record").select_option(index=1)
        page.scroll_through()
        for plot in page.page.locator(".plot .points path.point").all()[:200:20]:
            plot.dispatch_event("mouseover")
            plot.dispatch_event("click")
        assert page.page.evaluate("window.attacked") is None
        assert page.problems == []
        assert page.requested == [page.page.url]
        foreign = "#main :is(script, img, iframe, svg:not(.main-svg, .modebar svg), a:not(.modebar-btn))"
        assert page.page.locator(foreign).count() == 0
        assert page.page.locator("[onmouseover], [onload], [onerror]").count() == 0
        assert attack in (page.page.locator("#answer").text_content() or "")
        assert page.page.title().startswith("ampgate report: ")


def test_scripts_run_by_their_digest_alone(browser: Browser, one_page: Path, tmp_path: Path) -> None:
    """Were a text to become markup after all, the page's policy would stop it."""
    broken = tmp_path / "broken.html"
    text = one_page.read_text()
    broken.write_text(text.replace("</header>", "</header><script>window.attacked = 1</script>", 1))
    with opened(browser, broken) as page:
        assert page.page.evaluate("window.attacked") is None
        image = '<img src=x onerror="window.attacked = 1">'
        page.page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", image)
        page.settle()
        assert page.page.evaluate("window.attacked") is None
        assert any("Content Security Policy" in problem for problem in page.problems)


def test_what_is_not_seen_is_shown(tmp_path: Path) -> None:
    """A line to copy has neither line breaks nor marks that turn its direction around."""
    made = record()
    made["trials"][0]["reproducer"] = "ampgate validate\nrm -rf /\u202e \x1b[2J\x00"
    (tmp_path / "given.json").write_bytes(sealed(made))
    done = report("given.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.html").read_text()
    assert "ampgate validate\\u{a}rm -rf /\\u{202e} \\u{1b}[2J\\u{0}" in text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_messages_have_no_escape_sequences(tmp_path: Path) -> None:
    made = record()
    made["\x1b[2Jodd"] = 1
    (tmp_path / "given.json").write_bytes(sealed(made))
    done = report("given.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
