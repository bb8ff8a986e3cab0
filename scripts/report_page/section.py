"""A part of the page: a heading, its text, and the plots that stand in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from report_page.markup import Content, Markup, tag
from report_page.plot import Plot


@dataclass
class Section:
    """`link` is the word in the page's navigation. A folded one is opened by its reader."""

    name: str
    link: str
    title: str
    content: Content
    plots: list[Plot] = field(default_factory=list)
    folded: bool = False

    def markup(self) -> Markup:
        title = tag("h2", self.title)
        if not self.folded:
            return tag("section", title, self.content, id=self.name)
        return tag("section", tag("details", tag("summary", title), self.content), id=self.name)


def absent(what: str, because: str) -> Markup:
    """In the place of what a record does not hold."""
    return tag("p", tag("strong", f"{what}: not here."), f" {because[0].upper()}{because[1:]}", class_="absent")
