"""The pages of the site: the Markdown files of docs/, with links that lead inside the site.

A page is written for people who read the repository. For the site, links to files that are no
pages become downloads, tables that list pages become the navigation, and a link that leads nowhere
is an error.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages outside of docs/, and their place in the site.
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "README.md": "index.md",
    "docs/README.md": "contributing.md",
}
#: Pages that are made when the site is built; see `docs.site.reference`.
MADE = "reference"
#: Files that a page links to, and that are no pages.
FILES = "files"

LINK = re.compile(r"(?<!`)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
#: A row of a table that begins with a link to a page: a line of the navigation.
ROW = re.compile(r"^\| \[[^]]+\]\(([^)#]+\.md)\) \|", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```\n", re.MULTILINE | re.DOTALL)


class BrokenLink(ValueError):
    """A link that leads nowhere."""


def sources() -> list[Path]:
    """Every hand-written or generated Markdown file that is a page of the site."""
    inside = [path for path in sorted(DOCS.rglob("*.md")) if _is_page(path)]
    outside = [ROOT / name for name, page in OUTSIDE.items() if page != "index.md"]
    return inside + [path for path in outside if path.parent == ROOT]


def place(source: Path) -> str:
    """Where a source stands in the site."""
    name = source.relative_to(ROOT).as_posix()
    return OUTSIDE.get(name) or source.relative_to(DOCS).as_posix()


def navigation(source: Path) -> list[str]:
    """The pages that a page lists in its tables, relative to it, in their order."""
    if source.name not in ("index.md", "README.md", "results.md"):
        return []
    links = ROW.findall(source.read_text(encoding="utf-8"))
    here = (DOCS / place(source)).parent
    return [os.path.relpath(DOCS / _target(source, link), here) for link in links]


def text_for_site(source: Path) -> tuple[str, list[Path]]:
    """A page with its links as the site needs them, and the files that it links to."""
    files: list[Path] = []
    here = Path(place(source)).parent

    def replaced(match: re.Match[str]) -> str:
        said, link, anchor = match[1], match[2], match[3] or ""
        if not link or ":" in link:
            return match[0]
        target = _target(source, link)
        if isinstance(target, str):
            return f"[{said}]({os.path.relpath(target, here)}{anchor})"
        if target.is_dir():
            return said
        if target.suffix not in (".png", ".svg"):
            files.append(target)
            name = f"{FILES}/{target.relative_to(ROOT).as_posix()}"
            return f"[{said}]({os.path.relpath(name, here)})"
        return f"[{said}]({os.path.relpath(target, (DOCS / here))})"

    text = source.read_text(encoding="utf-8")
    parts = FENCE.split(text)
    fences = [*FENCE.findall(text), ""]
    made = "".join(
        LINK.sub(replaced, part) + fence for part, fence in zip(parts, fences, strict=True)
    )
    listed = [page.removesuffix(".md") for page in navigation(source)]
    if listed:
        made += "\n".join(["\n```{toctree}", ":hidden:", "", *listed, "```", ""])
    return made, files


def broken_links() -> Iterator[str]:
    """Every link of a page that leads nowhere, in words."""
    for source in [*sources(), ROOT / "README.md", DOCS / "README.md"]:
        try:
            text_for_site(source)
        except BrokenLink as problem:
            yield str(problem)


def write_pages(folder: Path) -> None:
    """Write all pages, with pictures and the files that they link to, into a folder."""
    for source in sources():
        text, files = text_for_site(source)
        page = folder / place(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        for file in files:
            copy = folder / FILES / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    for pictures in DOCS.rglob("img"):
        shutil.copytree(pictures, folder / pictures.relative_to(DOCS), dirs_exist_ok=True)


def _is_page(path: Path) -> bool:
    parts = path.relative_to(DOCS).parts
    return "findings" not in parts and not path.name.endswith(".findings.md") and path != README


README = DOCS / "README.md"


def _target(source: Path, link: str) -> str | Path:
    """The place in the site of the page that a link leads to, or the file."""
    from docs.site.reference import made_pages

    path = Path(os.path.normpath(source.parent / link))
    if path.is_relative_to(DOCS / MADE):
        name = path.relative_to(DOCS).as_posix()
        if name in made_pages():
            return name
    elif path.is_relative_to(ROOT) and path.exists():
        name = path.relative_to(ROOT).as_posix()
        if name in OUTSIDE:
            return OUTSIDE[name]
        if path.suffix == ".md" and path.is_relative_to(DOCS) and _is_page(path):
            return path.relative_to(DOCS).as_posix()
        return path
    raise BrokenLink(f"{source.relative_to(ROOT)} links to {link}, which is not there")
