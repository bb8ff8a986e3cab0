"""That the page can be read: contrast by WCAG 2 AA, in light and dark, on a phone and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import Opened, opened
from playwright.sync_api import Browser

PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
PAGES = ("one_page", "several_page")
# Of every text that is shown: its colour, what lies behind it, and whether it is large. Text in plots is SVG's.
TEXTS = """() => {
  const seen = [];
  const parse = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour[3] > 0) return colour;
    }
    return [255, 255, 255, 1];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const shown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const text = walker.currentNode.data.trim().slice(0, 40);
    if (!text || !shown || element.closest('script, style, option, .modebar')) continue;
    const style = getComputedStyle(element), svg = element.closest('svg');
    const colour = parse(svg ? style.fill : style.color);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const large = size >= 24 || (bold && size >= 18.66);
    seen.push([text, colour, behind(svg ? svg.parentElement : element), large]);
  }
  return seen;
}"""


def luminance(colour: list[float]) -> float:
    """Relative luminance, WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour[:3])]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def low_contrast(page: Opened) -> set[tuple[str, float]]:
    texts = page.page.evaluate(TEXTS)
    assert len(texts) > 500
    return {
        (text, round(contrast(colour, back), 2))
        for text, colour, back, large in texts
        if contrast(colour, back) < (3.0 if large else 4.5)
    }


def test_contrast_itself() -> None:
    assert contrast([0, 0, 0], [255, 255, 255]) == pytest.approx(21)
    assert contrast([119, 119, 119], [255, 255, 255]) == pytest.approx(4.478, abs=1e-3)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_all_text(browser: Browser, request: pytest.FixtureRequest, page: str, scheme: str) -> None:
    with opened(browser, request.getfixturevalue(page), color_scheme=scheme) as one:
        one.page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        one.scroll_through()
        assert low_contrast(one) == set()
        assert one.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_marks(browser: Browser, one_page: Path, scheme: str) -> None:
    """What is not text: 3 to 1 (WCAG 2.2, 1.4.11)."""
    with opened(browser, one_page, color_scheme=scheme) as one:
        one.scroll_through()
        found = one.page.evaluate("""() => {
          const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
          const back = parse(getComputedStyle(document.body).backgroundColor);
          return [...document.querySelectorAll('.points path.point')].map((one) => {
            const style = getComputedStyle(one);
            return [parse(style.fill === 'none' ? style.stroke : style.fill), back];
          });
        }""")
        assert len(found) > 100
        assert {tuple(mark) for mark, back in found if contrast(mark, back) < 3} == set()


def test_colours_follow_the_scheme(browser: Browser, one_page: Path) -> None:
    """Also of plots that were drawn before it changed."""
    with opened(browser, one_page, color_scheme="light") as one:
        one.scroll_through()
        paper = "document.querySelector('#plot-ratio .main-svg').style.background"
        assert one.page.evaluate(paper) == "rgb(255, 255, 255)"
        one.page.emulate_media(color_scheme="dark")
        one.settle()
        assert one.page.evaluate(paper) == "rgb(15, 19, 24)"


@pytest.mark.parametrize("page", PAGES)
def test_on_a_phone(browser: Browser, request: pytest.FixtureRequest, page: str) -> None:
    """Nothing makes the page wider than the screen; wide tables move within themselves."""
    with opened(browser, request.getfixturevalue(page), **PHONE) as one:
        one.scroll_through()
        assert one.page.evaluate("document.documentElement.scrollWidth") == 360
        wide = "plots => plots.filter((plot) => plot.getBoundingClientRect().right > 361).map((plot) => plot.id)"
        assert one.page.locator(".plot .main-svg").evaluate_all(wide) == []
        assert one.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_printed(browser: Browser, one_page: Path, tmp_path: Path, scheme: str) -> None:
    """Every plot is on paper, in light colours, without having been scrolled to."""
    with opened(browser, one_page, color_scheme=scheme) as one:
        declared = one.declared_marks()
        one.page.emulate_media(media="print")
        one.settle()
        assert one.marks() == declared
        assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert low_contrast(one) == set()
        widest = "plots => Math.max(...plots.map((plot) => plot.getBoundingClientRect().width))"
        assert one.page.locator(".plot .main-svg").evaluate_all(widest) <= 182 / 25.4 * 96 + 1
        edge = "tables => Math.max(...tables.map((table) => table.getBoundingClientRect().right))"
        assert one.page.locator("main table:visible").evaluate_all(edge) <= 182 / 25.4 * 96 + 1  # else all is shrunk
        assert one.page.pdf(format="A4", path=tmp_path / "page.pdf")[:5] == b"%PDF-"
        one.page.emulate_media(media="screen")
        one.settle()
        assert one.marks() == declared
        assert one.problems == []
