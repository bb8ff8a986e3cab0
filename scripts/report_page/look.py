"""How verdicts and precisions look: always a shape or a word beside the colour."""

from __future__ import annotations

from report_page.markup import Markup, tag

PRECISIONS = (
    "fp32", "tf32", "autocast-fp16", "cast-fp16", "islands-fp16", "autocast-bf16", "cast-bf16", "islands-bf16",
)  # fmt: skip
SIGNS = {
    "pass": "●",
    "suspect": "◆",
    "inaccurate": "✕",
    "nonfinite": "∞",
    "decision-changed": "⇄",
    "quality-lost": "▼",
    "baseline-invalid": "⊘",
    "vacuous": "○",
    "unrepeatable": "≈",
    "ambiguous": "?",
    "unsupported": "-",
    "crashed": "!",
    "timed-out": "…",
    "measured": "●",
    "below-target": "▼",
    "refused": "⊘",
    "output-changed": "⇄",
}
# Marks in plots: the shape is phase 1's verdict, hollow is a time that the measurement itself does not vouch for.
PLOT_SHAPES = {"pass": "circle", "suspect": "diamond"}
OTHER_SHAPE = "x"


def precision_colour(precision: str) -> str:
    """Colours are names that the page's style gives values to, since light and dark differ."""
    return f"var(--{precision})" if precision in PRECISIONS else "var(--other)"


def tone(verdict: str) -> str:
    if verdict in ("pass", "measured"):
        return "good"
    if verdict in ("suspect", "ambiguous"):
        return "doubtful"
    return "neutral" if verdict == "unsupported" else "bad"


def badge(verdict: str) -> Markup:
    sign = tag("span", SIGNS.get(verdict, "?"), class_="sign", aria_hidden="true")
    return tag("span", sign, verdict, class_=f"badge {tone(verdict)}")


def plot_shape(verdict: str, measured: str | None) -> str:
    shape = PLOT_SHAPES.get(verdict, OTHER_SHAPE)
    return shape if measured in (None, "measured") else f"{shape}-open"
