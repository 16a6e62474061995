"""Tables of HTML hold any text."""

from __future__ import annotations

from gsina.display import LETTERS, facts, grid, text


def test_text_is_escaped_and_cut() -> None:
    assert text("<b>") == "&lt;b&gt;"
    assert text(0.5) == "0.5"
    assert text("x" * 999).endswith(" ...")
    assert len(text("x" * 999)) == LETTERS + 4


def test_tables() -> None:
    assert facts([]) == ""
    assert "<th" in facts([("a", "<b>1</b>")])
    found = grid(["split", "loss"], [["<val>", "0.5"]])
    assert found.count("<tr>") == 2
    assert "&lt;val&gt;" in found
    assert "text-align:right" in found
