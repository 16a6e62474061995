"""Figures inside a page: SVG without styles, identifiers or fonts of its own.

The page forbids styles that it does not know, so every style becomes an attribute. Text stays text,
in the page's font, and whatever is drawn in :data:`INK` takes the colour of the page's text, so
that it can be read on a light and on a dark page.
"""

from __future__ import annotations

import io
import re

import matplotlib
from matplotlib.figure import Figure

#: Drawn in the colour of the surrounding text.
INK = "#222222"


def to_inline_svg(figure: Figure, name: str) -> str:
    """A figure as an ``svg`` element.

    Args:
        figure: The figure.
        name: What tells it from the others of the page, of letters only.
    """
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r' style="([^"]*)"', lambda found: _attributes(found[1]), svg)
    svg = re.sub(
        r'<svg [^>]*viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', svg
    )
    return re.sub(r"\n\s*", "\n", svg.replace(INK, "currentColor")).strip()


def _attributes(style: str) -> str:
    """Declarations of a style as attributes; of a font only its size."""
    parts = []
    for declaration in style.replace("&quot;", "'").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            size = re.search(r"[\d.]+px", value)
            name, value = "font-size", size[0] if size else ""
        if name and value and name != "font-family":
            parts.append(f' {name}="{value}"')
    return "".join(parts)
