"""A figure inside a page: no styles, no identifiers that could clash, the colour of the page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from matplotlib.figure import Figure

from gsina.explain.pictures.inline import INK, to_inline_svg


def drawn(name: str = "one") -> str:
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], [3, 1, 2], "o", label="<script>")
    axes.set_xlabel("steps", color=INK)
    axes.legend()
    return to_inline_svg(figure, name)


def test_nothing_that_the_page_forbids() -> None:
    svg = drawn()
    assert svg.startswith("<svg viewBox=")
    assert not re.search(r"style|<script|<g id=|font-family|<\?xml|<!", svg)
    assert 'fill="currentColor"' in svg
    assert INK not in svg
    assert "&lt;script&gt;" in svg
    assert ">steps</text>" in svg
    size = re.search(r'<text[^>]* font-size="([\d.]+)px"', svg)
    assert size is not None
    assert float(size[1]) > 5
    # As XML, with the one prefix that HTML knows without a declaration.
    known = svg.replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1)
    ElementTree.fromstring(known)


def test_two_figures_share_no_identifier() -> None:
    first, second = (set(re.findall(r' id="([^"]*)"', drawn(name))) for name in ("one", "two"))
    assert first
    assert not first & second
    assert drawn() == drawn()
