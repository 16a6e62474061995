"""The site of the documentation: no broken link, no page that nobody finds, no unknown name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import gsina.ops

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    """The programs of docs/site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        names = ("pages", "reference", "command_line", "__main__")
        yield SimpleNamespace(**{name: import_module(f"docs.site.{name}") for name in names})


@pytest.fixture
def small(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two pages, in place of ours; returns its docs."""
    docs = tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setattr(site.pages, "ROOT", tmp_path)
    monkeypatch.setattr(site.pages, "DOCS", docs)
    monkeypatch.setattr(site.pages, "README", docs / "README.md")
    monkeypatch.setattr(site.pages, "OUTSIDE", {"README.md": "index.md"})
    (tmp_path / "README.md").write_text("# Project\n")
    (docs / "README.md").write_text("# Documentation\n")
    (docs / "index.md").write_text("# Home\n\n| page | says |\n|---|---|\n| [A](a.md) | a |\n")
    (docs / "a.md").write_text("# A\n\nBack [home](../README.md).\n")
    return docs


def test_every_link_leads_somewhere(site: Any) -> None:
    assert list(site.pages.broken_links()) == []


@pytest.mark.parametrize("link", ["b.md", "../src/none.py", "reference/none.md", "../../out.md"])
def test_a_broken_link_is_named(site: Any, small: Path, link: str) -> None:
    (small / "a.md").write_text(f"See [this]({link}).\n")
    assert list(site.pages.broken_links()) == [f"docs/a.md links to {link}, which is not there"]


def test_links_are_those_of_the_site(site: Any, small: Path, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("")
    text = "[home](../README.md), [names](reference/index.md#a), [file](../run.py), [it](..)."
    fence = "\n```python\nx[0](../none.md)\n```\n"
    (small / "a.md").write_text(text + fence)
    made, files = site.pages.text_for_site(small / "a.md")
    wanted = "[home](index.md), [names](reference/index.md#a), [file](files/run.py), it."
    assert made == wanted + fence
    assert files == [tmp_path / "run.py"]
    home, _ = site.pages.text_for_site(small / "index.md")
    assert home.endswith("```{toctree}\n:hidden:\n\na\n```\n")


def test_every_page_is_found_from_the_first(site: Any) -> None:
    """A page has a row in the table of its section, which is the navigation."""
    docs = site.pages.DOCS
    by_place = {site.pages.place(source): source for source in site.pages.sources()}
    found, todo = set(), ["index.md"]
    while todo:
        place = todo.pop()
        assert place not in found, f"{place} is listed twice"
        found.add(place)
        source = by_place.get(place)
        if source is not None:
            here = (docs / place).parent
            links = site.pages.navigation(source)
            todo += [str((here / link).resolve().relative_to(docs)) for link in links]
    assert found - {"reference/index.md"} == set(by_place)


def test_every_public_name_is_documented(site: Any) -> None:
    assert list(site.reference.problems()) == []


def test_a_name_without_a_place_or_a_docstring_is_named(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.reference.public()  # before the change
    monkeypatch.setattr(gsina.ops, "__all__", [*gsina.ops.__all__, "new"])
    monkeypatch.setattr(gsina.ops, "new", lambda: None, raising=False)
    (said,) = site.reference.problems()
    assert said.startswith("gsina.ops.new is public, but in no page")
    monkeypatch.undo()

    class Bare:
        def method(self) -> None: ...

    page = {"x.Bare": Bare, "gsina.ops.NONE": {}}
    known = site.reference.public()
    monkeypatch.setattr(site.reference, "public", lambda: known | {"x": page})
    assert list(site.reference.problems()) == [
        "x.Bare has no docstring",
        "x.Bare.method has no docstring",
        "gsina.ops.NONE has no comment '#: ...' where it is assigned",
    ]


def test_the_command_line_is_documented_from_its_help(site: Any) -> None:
    page = site.command_line.commands_page()
    for command in ("demo", "train", "predict", "figure gallery"):
        assert f"## gsina {command}\n" in page
    assert "| `--ratio` | Share of the edges" in page
    assert "Default: `demo`." in page
    assert "[bold]" not in page


def test_without_the_extra_there_is_one_sentence(
    site: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = site.__main__
    monkeypatch.setattr(main, "find_spec", lambda name: None if name == "furo" else name)
    monkeypatch.setattr(sys, "argv", ["docs.site"])
    assert main.main() == 2
    said = "the site needs furo: pip install 'gsina[docs]', or make install.\n"
    assert capsys.readouterr().err == said


needs_sphinx = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("sphinx", "myst_parser", "furo", "sphinx_copybutton")),
    reason="the extra docs is not installed",
)


@needs_sphinx
@pytest.mark.slow
def test_the_site_builds_and_needs_no_network(site: Any, tmp_path: Path) -> None:
    assert site.__main__.build(tmp_path / "site") == 0
    home = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for section in ("Install", "Tutorials", "How to", "Concepts", "Reference", "Results"):
        assert f">{section}</a>" in home
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    loads = re.compile(r"<(?:script|img|iframe)[^>]+src=\"http|<link[^>]+href=\"http")
    assert [page for page in pages if loads.search(page.read_text(encoding="utf-8"))] == []
    assert list((tmp_path / "site").rglob("soft_top_r.ipynb"))
    reference = (tmp_path / "site/reference/main.html").read_text(encoding="utf-8")
    assert 'id="gsina.soft_top_r"' in reference


@needs_sphinx
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# A\n\n{py:class}`gsina.graphs.task.Task`, {py:class}`gsina.files.Lock`\n", 1),
        ("# A\n\n[there](index.md#nowhere)\n", 1),
        ("# A\n\n{py:func}`gsina.files.save_text`, [there](index.md#b)\n\n## B\n", 0),
    ],
)
def test_the_build_is_strict(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, code: int
) -> None:
    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / "index.md").write_text(text)

    main: ModuleType = site.__main__
    monkeypatch.setattr(main, "write_pages", write)
    monkeypatch.setattr(main, "write_reference", lambda folder: None)
    assert main.build(tmp_path / "site") == code
