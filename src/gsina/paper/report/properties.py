"""The page of the paper's property table, with a measured figure behind every word."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gsina.display import markdown_table
from gsina.explain.separability import Separability
from gsina.files import save_text
from gsina.methods import make_config
from gsina.ops.budget import Budget
from gsina.paper.report.summaries import pair
from gsina.paper.studies.properties import Properties
from gsina.runs.provenance import short_commit

#: What the paper says: sparse, soft, differentiable. It prints CIGA for the methods with a hard
#: top-k; its text counts DIR among them.
CLAIMS = {
    "gsat": ("No", "Yes", "Fully"),
    "cigav2": ("Yes", "No", "Partially"),
    "dir": ("Yes", "No", "Partially"),
    "gsina": ("Yes", "Yes", "Fully"),
}
LABELS = {
    "gsat": "GSAT (information bottleneck)",
    "cigav2": "CIGAv2 (hard top-k)",
    "dir": "DIR (hard top-k)",
    "gsina": "GSINA",
}

SPLITS = {"val": "validation", "test": "test, larger"}

INTRODUCTION = """# Sparse, soft, differentiable

The paper sets three ways to extract a subgraph side by side: an information bottleneck (GSAT), a
hard top-k (CIGA in its table; DIR is another) and GSINA. It says of each whether it is sparse, soft
and differentiable. This page puts a measured figure behind every word. It is written by
`gsina figure separability`, which trains the models; its numbers are in
`results/separability.json`.
"""

COLUMNS = (
    *("", "sparse?", "mass on the top", "mean weight", "soft?", "between", "differentiable?"),
    *("reached", "outside : inside"),
)

EXPLANATION = """## How the figures are measured

On trained models, in evaluation mode: without noise and dropout. The *weight* of an edge is what
its messages are multiplied by, 0 if the edge is removed; the *top* of a graph is the share r of its
edges with the largest weights, with the same r for every method.

* **Mass on the top**: share of a graph's weight that lies on its top, mean over graphs. It is r if
  the weight is spread evenly, and 100 % if nothing is outside the top.
* **Mean weight** of the edges of a graph, mean ± standard deviation over graphs. A method whose
  weights add up to a chosen share of the edges has that share here, and ± 0.
* **Between**: share of edges with a weight strictly between 0.01 and 0.99. It is 0 % if every edge
  is on or off.
* **Reached**: share of edges whose score gets a gradient other than 0 from the prediction loss.
* **Outside : inside**: mean size of that gradient outside the top, over that inside. It is 0 if
  only what is selected learns.

A hard top-k multiplies what it keeps by a score, and so is soft inside its top only; and a
gradient other than 0 may still be tiny, which the last column shows.
"""


SEPARABILITY = """## How well attention tells the explanation from the background

The paper's first figure, drawn from the models of seed {seed}: above, one batch of validation
graphs, one row per graph with its edges in descending order of attention; below, the densities of
the attention of background and explanation in that batch. The table is over all graphs.

![Attention of background and explanation](img/separability.png)

*Overlap* is what the two densities share, 1 if they are the same and 0 if they are apart;
*scale-free overlap* is the same after a change of scale that makes the values equally likely, and
so does not care at which level a method's weights lie. *KS* is the Kolmogorov-Smirnov distance, 0
if the two are the same and 1 if one value separates them.
"""
APART = (
    *("", "graphs", "overlap", "scale-free overlap", "KS", "mean of the background"),
    "of the explanation",
)


@dataclass(frozen=True)
class Row:
    """One trained model on the page.

    Attributes:
        method: Name of the method, as in the registry.
        setting: What distinguishes it from others of the method, such as ``r = 0.3``.
        seed: Its seed.
        commit: The commit that it was trained and measured with.
        data: The graphs that were looked at.
        properties: The figures.
        separability: By split (``val``, ``test``), the measured :class:`Separability`.
    """

    method: str
    setting: str
    seed: int
    commit: str
    data: str
    properties: Properties
    separability: dict[str, Separability] = field(default_factory=dict)


def rows_of(results: Iterable[dict[str, Any]]) -> list[Row]:
    """The rows of the results that ``property_result`` made; others are skipped."""
    return [
        Row(
            method=(method := result["recipe"]["method"])["name"],
            setting=_setting(method),
            seed=result["seed"],
            commit=result["commit"],
            data=result["properties_of"],
            # JSON has no NaN: what is not defined, as the outside of r = 1, is null there.
            properties=Properties(
                **{k: math.nan if v is None else v for k, v in result["properties"].items()}
            ),
            separability={
                split: Separability(**numbers)
                for split, numbers in result.get("separability", {}).items()
            },
        )
        for result in results
        if "properties" in result
    ]


def _setting(method: dict[str, Any]) -> str:
    config = make_config(method["name"], method["options"])
    if method["name"] == "gsat":
        return f"prior = {config.final_ratio}"
    budget = Budget.of_settings(config)
    return "" if budget is None else budget.symbol


def write_properties(path: Path, rows: Sequence[Row]) -> None:
    """Write the page; several seeds of a method become mean ± standard deviation."""
    save_text(path, properties_page(rows))


def properties_page(rows: Sequence[Row]) -> str:
    """The page as Markdown."""
    found: dict[tuple[str, str, float, str], list[Row]] = {}
    for row in rows:
        key = (row.method, row.setting, row.properties.ratio, row.data)
        found.setdefault(key, []).append(row)
    groups = sorted(found.values(), key=_order)
    table = markdown_table(COLUMNS, [_cells(group) for group in groups])
    body = [table, *_sources(rows)] if groups else ["Not measured yet."]
    apart = [cells for group in groups for cells in _separability_cells(group)]
    if apart:
        seed = min(row.seed for row in rows)
        body += ["", SEPARABILITY.format(seed=seed), markdown_table(APART, apart).rstrip()]
    return "\n".join([INTRODUCTION, *body, "", EXPLANATION])


def _separability_cells(group: list[Row]) -> list[list[str]]:
    """A row for each split of one method."""
    rows = []
    for split in group[0].separability:
        each = [row.separability[split] for row in group if split in row.separability]
        cells = [_label(group[0]), SPLITS.get(split, split)]
        cells += [_mean(values, 3) for values in zip(*each, strict=True)]
        rows.append(cells)
    return rows


def _mean(values: Sequence[float], digits: int) -> str:
    spread = statistics.pstdev(values) if len(values) > 1 else None
    return pair(statistics.fmean(values), spread, digits)


def _order(group: list[Row]) -> tuple[int, str]:
    row = group[0]
    return list(CLAIMS).index(row.method) if row.method in CLAIMS else len(CLAIMS), row.setting


def _cells(group: list[Row]) -> list[str]:
    row, each = group[0], [one.properties for one in group]
    mean = {name: [getattr(one, name) for one in each] for name in asdict(each[0])}
    sparse, soft, differentiable = CLAIMS.get(row.method, ("", "", ""))
    weight = pair(statistics.fmean(mean["mean_weight"]), statistics.fmean(mean["spread"]), 3)
    return [
        _label(row),
        sparse,
        f"{_percent(mean['top_share'])} on {100 * row.properties.ratio:g} %",
        weight,
        soft,
        _percent(mean["soft_share"]),
        differentiable,
        _percent(mean["reached"]),
        f"{statistics.fmean(mean['outside']):.3f}",
    ]


def _label(row: Row) -> str:
    return f"{LABELS.get(row.method, row.method)}, {row.setting}"


def _percent(values: list[float]) -> str:
    return f"{_mean([100 * value for value in values], 1)} %"


def _sources(rows: Sequence[Row]) -> list[str]:
    data = "; ".join(dict.fromkeys(row.data for row in rows))
    seeds = ", ".join(str(seed) for seed in sorted({row.seed for row in rows}))
    known = sorted({short_commit(row.commit) for row in rows if row.commit})
    commits = ", ".join(known) or "unknown"
    return [
        "The words are the paper's, the figures ours (mean ± standard deviation over seeds where "
        f"there are several; of the mean weight, over graphs). Measured on: {data}. "
        f"Seeds: {seeds}. Commits: {commits}."
    ]
