"""A critical-difference picture: methods on a line of mean ranks, joined if not told apart."""

from __future__ import annotations

import math
from html import escape

from gsina.paper.report.ranking import Ranking

WIDTH, MARGIN, LABELS = 900, 30, 230
TOP, LINE, BAR = 78, 26, 12
STYLE = """
  text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #222222 }
  .sky { fill: #ffffff } .axis, .lead { stroke: #6b6b6b; fill: none } .small { font-size: 12px }
  .ours { font-weight: 700 } .bar { stroke: #b3432f; stroke-width: 5; stroke-linecap: round }
  @media (prefers-color-scheme: dark) {
    .sky { fill: #0f151b } text { fill: #f1f5f8 } .axis, .lead { stroke: #9fb0be }
    .bar { stroke: #e07b63 }
  }"""


def critical_difference_picture(ranking: Ranking, title: str, ours: str = "GSINA") -> str:
    """The picture as SVG; methods whose name begins with ``ours`` stand out.

    The best are on the left. A bar joins methods whose mean ranks differ by less than the critical
    difference, which is drawn above the line.
    """
    standings = ranking.standings
    count = max(len(standings), 2)
    groups = ranking.groups() if not math.isnan(ranking.difference) else []
    left, right = MARGIN + LABELS, WIDTH - MARGIN - LABELS

    def place(rank: float) -> float:
        return left + (rank - 1) / (count - 1) * (right - left)

    below = TOP + BAR * (len(groups) + 1)
    half = (len(standings) + 1) // 2
    height = below + LINE * half + 24
    parts = [_line("axis", left, TOP, right, TOP)]
    for rank in range(1, count + 1):
        parts += [
            _line("axis", place(rank), TOP - 6, place(rank), TOP),
            _text(place(rank), TOP - 12, str(rank), "middle", "small"),
        ]
    if not math.isnan(ranking.difference):
        end = min(place(1 + ranking.difference), WIDTH - MARGIN)
        parts += [
            _line("axis", left, 30, end, 30),
            _line("axis", left, 25, left, 35),
            _line("axis", end, 25, end, 35),
            _text(left, 20, f"critical difference {ranking.difference:.2f}", "start", "small"),
        ]
    for at, (first, last) in enumerate(groups, start=1):
        height_of_bar = TOP + BAR * at
        ends = place(standings[first].rank) - 4, place(standings[last].rank) + 4
        parts.append(_line("bar", ends[0], height_of_bar, ends[1], height_of_bar))
    for at, one in enumerate(standings):
        on_left = at < half
        level = below + LINE * ((at if on_left else len(standings) - 1 - at) + 0.7)
        x, end = place(one.rank), left - 8 if on_left else right + 8
        anchor = "end" if on_left else "start"
        label = f"{one.method} {one.rank:.2f}"
        parts += [
            f'<path class="lead" d="M{x:.1f} {TOP} V{level:.1f} H{end:.1f}"/>',
            _text(
                end + (-6 if on_left else 6),
                level + 5,
                label,
                anchor,
                "ours" if one.method.startswith(ours) else "other",
            ),
        ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}\n</style>",
            f'<rect class="sky" width="{WIDTH}" height="{height:g}" rx="8"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _line(kind: str, x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:g}" x2="{to_x:.1f}" y2="{to_y:g}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
    )
