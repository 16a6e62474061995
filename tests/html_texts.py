"""What notebooks show: text out of HTML that is well formed and loads nothing."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any


class Checked(HTMLParser):
    """Collects text, and refuses tags that do not match or that load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "b", "table", "tr", "th", "td", "details", "summary")
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def texts(shown: Any) -> list[str]:
    """The pieces of text that a notebook shows of an object."""
    page = Checked()
    page.feed(shown._repr_html_())
    assert page.open == []
    return page.text
