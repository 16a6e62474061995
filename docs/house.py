"""Which part of the package may use which, and a picture of it: ``python -m docs.house``.

The picture is docs/img/house.svg. Every part is a room that stands on the rooms that it may import.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "gsina"
PICTURE = ROOT / "docs" / "img" / "house.svg"

#: What each part of the package may import besides itself, and with it all that is below that.
BELOW = {
    "errors": "",
    "display": "errors",
    "parallel": "errors",
    "ops": "errors",
    "files": "errors",
    "metrics": "errors",
    "graphs": "ops files parallel metrics display",
    "molecules": "graphs",
    "datasets": "molecules",
    "formats": "datasets",
    "nn": "graphs",
    "methods": "nn",
    "listeners": "files metrics",
    "training": "methods listeners",
    "explainers": "training",
    "models": "explainers formats",
    "explain": "models",
    "estimators": "explain",
    "runs": "explain",
    "tuning": "runs",
    "paper": "tuning",
    "cli": "paper estimators",
    "__init__": "estimators runs moved",
    "__main__": "cli",
    "moved": "",
}
#: The roof: what stands on everything and is no room; `moved` holds old names only.
ROOF = ("__init__", "__main__", "moved")

WIDTH, MARGIN, TOP = 1000, 60, 150
GAP = 26
#: How far from its edge an arrow round a corner leaves or meets a room.
INSET = 40
#: Rooms below this width have their size under their name.
NARROW = 180
STYLE = """
  .sky { fill: #ffffff } .roof { fill: #b3432f } .roof-text { fill: #ffffff }
  .room { fill: #eef3f8; stroke: #7d93a8 } .wide { fill: #e2ecd9; stroke: #86a06d }
  .name { fill: #14202b; font-weight: 700 } .what { fill: #3c4c5a } .lines { fill: #55646f }
  .arrow { stroke: #55646f; stroke-width: 1.6; fill: none } .tip { fill: #55646f }
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px }
  .name { font-size: 17px } .roof-text { font-size: 15px } .title { font-size: 22px }
  @media (prefers-color-scheme: dark) {
    .sky { fill: #0f151b } .roof { fill: #8f3524 }
    .room { fill: #1d2a36; stroke: #5f7b94 } .wide { fill: #23301c; stroke: #6d8a52 }
    .name { fill: #f1f5f8 } .what { fill: #c4d0da } .lines { fill: #9fb0be }
    .arrow { stroke: #9fb0be } .tip { fill: #9fb0be }
  }"""


def reach(part: str) -> set[str]:
    """Everything below a part, itself included."""
    return {part}.union(*(reach(below) for below in BELOW[part].split()))


def rooms() -> dict[str, range]:
    """The floors that every part takes up, counted from the ground.

    A room lies just above the highest of those below it, and is as tall as it takes to carry the
    lowest of those above it.
    """
    floor: dict[str, int] = {}
    for part in BELOW:
        if part not in ROOF:
            floor[part] = max((floor[below] + 1 for below in BELOW[part].split()), default=0)
    above = {part: [floor[user] for user in floor if part in BELOW[user].split()] for part in floor}
    return {part: range(at, min(above[part], default=at + 1)) for part, at in floor.items()}


def lines(part: str) -> int:
    """Lines of code of a part."""
    folder, file = SOURCE / part, SOURCE / f"{part}.py"
    paths = folder.rglob("*.py") if folder.is_dir() else [file]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def about(part: str) -> str:
    """The first sentence of a part's docstring."""
    folder = SOURCE / part
    path = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{part}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = text.splitlines()[0]
    return first.split(". ")[0].split("; ")[0].replace("`", "").rstrip(".")


def size(part: str) -> str:
    """Lines of code in words, to the nearest hundred."""
    count = round(lines(part), -2)
    return f"{count:,} lines" if count else "a few lines"


def picture() -> str:
    """The house as SVG."""
    taken = rooms()
    widths = {part: _width(part, taken) for part in taken}
    ends = [0.0]  # of every floor, from the roof down to the ground
    for floor in reversed(range(max(floors.stop for floors in taken.values()))):
        said = [
            len(_said(part, widths[part]))
            for part in taken
            if taken[part] == range(floor, floor + 1)
        ]
        ends.append(ends[-1] + 42 + 16 * max(said) + GAP)
    height = TOP + ends[-1] + 30
    boxes: dict[str, tuple[float, float, float, float]] = {}
    for part, floors in taken.items():
        level = [other for other, others in taken.items() if floors.start in others]
        x = MARGIN + sum(widths[other] + GAP for other in level[: level.index(part)])
        y, end = ends[-1 - floors.stop], ends[-1 - floors.start]
        boxes[part] = (x, TOP + y, widths[part], end - y - GAP)
    parts = [_roof()]
    for part, (x, y, width, tall) in boxes.items():
        parts.append(_box(part, x, y, width, tall))
        for below in BELOW[part].split():
            left, end, wide, _ = boxes[below]
            inner, outer = max(x, left), min(x + width, left + wide)
            ways = [(inner + outer) / 2] * 2
            if inner > outer:  # not above each other: round the corner, between the floors
                ways = (
                    [outer - INSET, inner + INSET] if x < left else [inner + INSET, outer - INSET]
                )
            parts.append(_arrow(*ways, y + tall, end))
    total = round(sum(lines(part) for part in boxes), -2)
    parts.append(
        f'<text class="lines" x="{WIDTH / 2:g}" y="{height - 24:g}" text-anchor="middle">'
        f"{total:,} lines of Python. A room may use every room that its arrows lead to.</text>"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
            f'width="{WIDTH}" height="{height:g}" role="img">',
            "<title>The parts of gsina, each on top of those that it may import</title>",
            f"<style>{STYLE}\n</style>",
            f'<rect class="sky" width="{WIDTH}" height="{height:g}" rx="12"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _width(part: str, taken: dict[str, range]) -> float:
    """A room of several floors fits into the fullest of them; the others share what is left."""
    room, floors = WIDTH - 2 * MARGIN + GAP, taken[part]
    levels = [[one for one in taken if floor in taken[one]] for floor in floors]
    if len(floors) > 1:
        return room / max(map(len, levels)) - GAP
    tall = [one for one in levels[0] if len(taken[one]) > 1]
    left = room - sum(_width(one, taken) + GAP for one in tall)
    return left / (len(levels[0]) - len(tall)) - GAP


def _said(part: str, width: float) -> list[str]:
    """Lines about a room; in a narrow one its size is the last of them."""
    return wrap(about(part), int((width - 28) / 6.9)) + [size(part)] * (width < NARROW)


def _roof() -> str:
    peak, eaves = 24, TOP - 12
    return (
        f'<path class="roof" d="M{MARGIN - 30} {eaves} L{WIDTH / 2:g} {peak} '
        f'L{WIDTH - MARGIN + 30} {eaves} Z"/>\n'
        f'<text class="roof-text title" x="{WIDTH / 2:g}" y="92" text-anchor="middle">'
        "gsina</text>\n"
        f'<text class="roof-text" x="{WIDTH / 2:g}" y="120" text-anchor="middle">'
        "from gsina import ... | python -m gsina</text>"
    )


def _box(part: str, x: float, y: float, width: float, tall: float) -> str:
    kind = "wide" if width > WIDTH / 2 else "room"
    name = part if (SOURCE / part).is_dir() else f"{part}.py"
    said = _said(part, width)
    middle = y + tall / 2 - 7 * len(said)
    text = [
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{tall:g}" rx="6"/>',
        f'<text class="name" x="{x + 14:g}" y="{middle + 4:g}">{name}</text>',
    ]
    if width >= NARROW:
        text.append(
            f'<text class="lines" x="{x + width - 14:g}" y="{middle + 4:g}" text-anchor="end">'
            f"{size(part)}</text>"
        )
    for number, line in enumerate(said, 1):
        text.append(
            f'<text class="what" x="{x + 14:g}" y="{middle + 6 + 16 * number:g}">'
            f"{escape(line, quote=False)}</text>"
        )
    return "\n".join(text)


def _arrow(begin: float, x: float, start: float, end: float) -> str:
    corner = "" if begin == x else f" V{(start + end) / 2 - 4:g} H{x:g}"
    return (
        f'<path class="arrow" d="M{begin:g} {start:g}{corner} V{end - 8:g}"/>'
        f'<path class="tip" d="M{x - 5:g} {end - 9:g} H{x + 5:g} L{x:g} {end:g} Z"/>'
    )


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
