"""The page of what decides: findings, comparisons seed by seed, and the tables behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gsina.display import markdown_table
from gsina.files import save_text
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.paper.grid.results import Results
from gsina.paper.report.comparisons import compare, in_words
from gsina.paper.report.fresh_draws import fresh_draws
from gsina.paper.report.pages import ELSEWHERE
from gsina.paper.report.summaries import Summary, summarise
from gsina.paper.report.table_page import markdown
from gsina.paper.tables import make_table
from gsina.paper.tables.factors import EXPLANATIONS
from gsina.runs.recipe import Recipe

HEADER = """# What decides

{findings}
## The questions, seed by seed

This part is written by `gsina report`; every number comes from a file in `results/runs/`. A
difference is the mean over seeds of row minus row, in points of OOD test accuracy, with its 95 %
interval and the p-value of a paired t-test; several questions are asked of the same runs, and
p-values are not corrected for that. The column *equal* says what the two rows have in common:
depth (layers between features and answer), parameters (within 5 %), or both.
"""


class Question(NamedTuple):
    """A question, and the rows that answer it: each against another."""

    text: str
    pairs: tuple[tuple[str, str], ...]


PLAIN, GSINA = "plain network", "GSINA, raw, r 0.5, depth 4, max"
QUESTIONS = (
    Question(
        "How much is the readout?",
        (
            (f"{PLAIN}, depth 2, max", f"{PLAIN}, depth 2, sum"),
            (f"{PLAIN}, depth 4, max", f"{PLAIN}, depth 4, sum"),
            (f"{PLAIN}, depth 6, max", f"{PLAIN}, depth 6, sum"),
            (f"{PLAIN}, depth 4, mean", f"{PLAIN}, depth 4, sum"),
            ("GSINA, embedding, depth 4, max", "GSINA, embedding, depth 4, sum"),
            (GSINA, "GSINA, raw, r 0.5, depth 4, sum"),
            ("GSAT, depth 4, max", "GSAT, depth 4, sum"),
            ("DIR, embedding, depth 4, max", "DIR, embedding, depth 4, sum"),
        ),
    ),
    Question(
        "How much is depth?",
        (
            (f"{PLAIN}, depth 4, sum", f"{PLAIN}, depth 2, sum"),
            (f"{PLAIN}, depth 6, sum", f"{PLAIN}, depth 4, sum"),
            (f"{PLAIN}, depth 4, max", f"{PLAIN}, depth 2, max"),
            (f"{PLAIN}, depth 6, max", f"{PLAIN}, depth 4, max"),
            (f"{PLAIN}, depth 8, max", f"{PLAIN}, depth 4, max"),
        ),
    ),
    Question(
        "How much is reading the embedding?",
        (
            ("GSINA, embedding, depth 4, sum", "GSINA, raw, depth 4, sum"),
            ("GSINA, embedding, depth 4, max", "GSINA, raw, r 0.25, depth 4, max"),
            ("GSINA, embedding, depth 4, max", GSINA),
        ),
    ),
    Question(
        "How much is selection?",
        (
            ("GSINA, embedding, depth 4, sum", f"{PLAIN}, depth 4, sum"),
            ("GSAT, depth 4, sum", f"{PLAIN}, depth 4, sum"),
            ("DIR, embedding, depth 4, sum", f"{PLAIN}, depth 4, sum"),
            (GSINA, f"{PLAIN}, depth 4, max"),
            (GSINA, f"{PLAIN}, width 105, depth 4, max"),
            ("GSINA, embedding, depth 4, max", f"{PLAIN}, depth 4, max"),
            ("GSAT, depth 4, max", f"{PLAIN}, depth 4, max"),
            ("DIR, embedding, depth 4, max", f"{PLAIN}, depth 4, max"),
        ),
    ),
    Question(
        "How much is the loss?",
        (
            (f"{PLAIN}, resampled, depth 4, max", f"{PLAIN}, depth 4, max"),
            ("GSINA, raw, r 0.5, resampled, depth 4, max", GSINA),
            (
                "GSINA, raw, r 0.5, resampled, depth 4, max",
                f"{PLAIN}, resampled, depth 4, max",
            ),
            (
                "DIR, embedding, depth 4, sum",
                "DIR, embedding, no interventions, depth 4, sum",
            ),
        ),
    ),
    Question(
        "Which rule selects, and how sharply?",
        tuple(
            (f"GSINA, raw, {change}, depth 4, max", GSINA)
            for change in (
                "hard draws",
                "quadratic",
                "no noise",
                "r 0.25",
                "r 0.7",
                "8 edges",
                "tau 0.3",
                "normed scorer",
                "expected weights",
                "no node attention",
            )
        ),
    ),
    Question(
        "How much is the direction of the edges?",
        (
            (f"{PLAIN}, both ways, depth 4, sum", f"{PLAIN}, depth 4, sum"),
            (f"{PLAIN}, both ways, depth 4, max", f"{PLAIN}, depth 4, max"),
        ),
    ),
)


def write_what_decides(path: Path, results: Results) -> None:
    """Write the page; the findings beside it (``<name>.findings.md``) are put at its beginning."""
    findings = path.with_name(f"{path.stem}.findings.md")
    text = findings.read_text(encoding="utf-8") if findings.exists() else ""
    save_text(path, what_decides_page(results, text))


def what_decides_page(results: Results, findings: str = "") -> str:
    """The whole page; the findings stand first."""
    parts = [HEADER.format(findings=findings)]
    summaries = summarise(make_table("factors"), results)
    parts += [_answers(question, summaries) for question in QUESTIONS]
    parts.append(_ranking(summarise(make_table("recommended"), results)))
    parts += [markdown(make_table(name), results, run_only=True) for name in ELSEWHERE[1:]]
    return "\n".join(parts)


def _answers(question: Question, summaries: Sequence[Summary]) -> str:
    recipes = {one.cell.row: one.cell.recipe for one in summaries}
    rows = [
        [row, against, equal(row, against, recipes), one.column, in_words(one)]
        for row, against in question.pairs
        for one in compare(summaries, row, against)
    ]
    if not rows:
        return f"### {question.text}\n\nNot run yet.\n"
    return f"### {question.text}\n\n" + markdown_table(
        ("", "against", "equal", "data", "difference"), rows
    )


def _ranking(summaries: Sequence[Summary]) -> str:
    """The recommended recipe beside every other method, on all fresh draws together."""
    rows = fresh_draws(summaries)
    if not rows:
        return ""
    heads = ("", "data", "accuracy", *(one.label for one in EXPLANATIONS), "runs", "GSINA's lead")
    return (
        "### Is the recommended recipe ahead, all methods tuned alike?\n\n"
        "Both fresh draws together; runs are paired by draw and seed, at the end also by bias.\n\n"
        + markdown_table(heads, rows)
    )


def equal(row: str, against: str, recipes: dict[str, Recipe]) -> str:
    """What two rows of the study have in common: ``depth``, ``parameters``, both or nothing."""
    depths = [re.search(r"depth (\d)", label) for label in (row, against)]
    counts = [count_parameters(recipes[label]) for label in (row, against)]
    same = [
        *(["depth"] if len({found[1] for found in depths if found}) == 1 else []),
        *(["parameters"] if max(counts) <= 1.05 * min(counts) else []),
    ]
    return " and ".join(same)


def count_parameters(recipe: Recipe) -> int:
    """Parameters of a recipe's model on Spurious-Motif: four node features, one edge feature."""
    spec = NetworkSpec(recipe.backbone.name, 4, 1, recipe.backbone.options)
    method = build_method(recipe.method.name, spec, Task("multiclass", 3), recipe.method.options)
    return sum(parameter.numel() for parameter in method.parameters())
