"""Links of the documentation lead somewhere, and its numbers come from files."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from gsina.paper.grid.results import Results
from gsina.paper.report.leaderboard import collect, leaderboard_page
from gsina.paper.report.properties import properties_page, rows_of

ROOT = Path(__file__).parent.parent


def test_the_files_that_contributors_are_told_of_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.]+/[\w.]+\.(?:py|c|js|json|md))`|`(\w+\.py)`", text)
    for name in {first or second for first, second in named}:
        base = ROOT if name.startswith(("tests/", "docs/", "results/")) else ROOT / "src" / "gsina"
        short = "/" not in name  # a file that the sentence before has named in full
        if "yours" not in name:
            assert list(base.rglob(name)) if short else (base / name).exists(), name


def test_the_numbers_of_the_readme_are_those_of_the_pages() -> None:
    """Every number of its table stands, with its deviation, on the page that the row links to."""
    number = r"\d+\.\d+(?: ± \d+\.\d+)?"
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^]]+\]\((docs/\S+\.md)\)[^|]*\|(.*)\|$", text, re.MULTILINE)
    assert len(rows) == 5
    for page, cells in rows:
        known = re.findall(number, (ROOT / page).read_text(encoding="utf-8"))
        found = [[float(part) for part in one.split(" ± ")] for one in known]
        for shown in re.findall(number, cells):
            wanted = pytest.approx([float(part) for part in shown.split(" ± ")], abs=0.0501)
            assert any(one == wanted for one in found), f"{shown} is not in {page}"


def test_contributors_are_told_of_every_target() -> None:
    """Every make target has a line, and every line a target."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    told = set(re.findall(r"^    make (\w+)", text, re.MULTILINE))
    assert targets is not None
    assert told == set(targets[1].split()) - {"clean", "demo"}
    assert "at most 72 characters" in text


def test_the_leaderboard_is_what_the_result_files_say() -> None:
    results = Results(ROOT / "results")
    findings = ROOT / "docs" / "leaderboard.findings.md"
    text = findings.read_text(encoding="utf-8") if findings.exists() else ""
    page = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    assert page == leaderboard_page(collect(results), results, text)


def test_the_page_of_speed_is_what_the_benchmarks_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.report import speed_page

    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert page == speed_page(ROOT / "results" / "bench")


def test_the_table_of_attacks_is_what_was_tried() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "reliability.py"), run_name="reliability")
    page = made["PAGE"].read_text(encoding="utf-8")
    result = json.loads(made["RESULT"].read_text())
    assert made["BEGIN"] in page
    assert page == made["with_table"](page, result)
    assert made["table"](result | {"seed": result["seed"] + 1}) not in page
    assert all(one["tried"] == one["survived"] for one in result["families"])


def test_the_page_of_properties_is_what_its_numbers_say() -> None:
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    numbers = json.loads((ROOT / "results" / "separability.json").read_text())["runs"]
    assert page == properties_page(rows_of(numbers))
