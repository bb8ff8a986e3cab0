"""HTML from Python: whatever is not markup already is escaped, so that no text of a record becomes any."""

from __future__ import annotations

import html
from collections.abc import Iterable

# Marks that turn the direction of text around could make a line look like another one.
DIRECTION_MARKS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *DIRECTION_MARKS]
SHOWN = {code: f"\\u{{{code:x}}}" for code in CONTROLS}
SHOWN_IN_PROSE = {code: shown for code, shown in SHOWN.items() if code not in (0x09, 0x0A)}
VOID = {"meta", "input", "br", "col"}


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


Content = str | Markup | None | Iterable["Content"]
Attribute = str | int | bool | None


def visible(text: str) -> str:
    """One line without anything that is not seen: what a command to copy must be."""
    return text.translate(SHOWN)


def escaped(text: str) -> Markup:
    return Markup(html.escape(text.translate(SHOWN_IN_PROSE)))


def join(content: Content) -> Markup:
    if content is None:
        return Markup("")
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return escaped(content)
    return Markup("".join(map(join, content)))


def tag(name: str, *content: Content, **attributes: Attribute) -> Markup:
    """<name attributes>content</name>. `class_` is class, `data_x` is data-x; None and False leave an attribute out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{escaped(str(value))}"')
    opening = f"<{' '.join(words)}>"
    return Markup(opening if name in VOID else f"{opening}{join(content)}</{name}>")


def code(text: str) -> Markup:
    return tag("code", visible(text))


def paragraph(*content: Content, **attributes: Attribute) -> Markup:
    return tag("p", *content, **attributes)


def bullets(items: Iterable[Content]) -> Markup:
    return tag("ul", [tag("li", item) for item in items])


def plot_text(text: str) -> str:
    """For Plotly, which knows some tags in the text that it draws."""
    return html.escape(visible(text), quote=False)
