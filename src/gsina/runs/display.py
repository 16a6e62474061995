"""The result of a run in a notebook: what was trained, and its scores beside those of baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gsina.display import facts, grid, text
from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label
from gsina.models.comparison import main_scores
from gsina.models.display import scores_html


def result_html(result: Mapping[str, Any]) -> str:
    """A small piece of HTML about a result, as ``result.json`` has it; empty parts are left out."""
    if not result:
        return "<div>a run whose result another process has</div>"
    recipe = result["recipe"]
    data, method = recipe["data"], recipe["method"]["name"]
    name = data.get("title") or data.get("name") or ", ".join(map(str, data.get("files", ())))
    rows = [
        ("network", text(recipe["backbone"]["name"])),
        ("seed", text(result["seed"])),
        ("epochs", text(_epochs(result))),
    ]
    rows += [("note", text(note)) for note in result.get("notes", ())]
    words = dict(SPLITS) | ({"test": "OOD test"} if result.get("shifted", True) else {})
    return (
        f"<div><b>{text(method)}</b> on {text(name)}{facts(rows)}"
        f"{scores_html(result['metrics'], words)}{_baselines(result, method, words)}</div>"
    )


def _epochs(result: Mapping[str, Any]) -> str:
    done, best = result.get("epochs"), result.get("best_epoch", -1)
    kept = "the last was kept" if best < 0 else f"epoch {best + 1} was kept"
    return f"{done}; {kept}, by validation data ({result.get('selection')})"


def _baselines(result: Mapping[str, Any], method: str, words: Mapping[str, str]) -> str:
    known = result.get("baselines") or {}
    if not known.get("metrics"):
        return ""
    metric, splits = result["metric"], list(result["metrics"])
    scores = main_scores(method, result["metrics"], known, metric)
    heads = [metric_label(metric), *(words.get(split, split) for split in splits)]
    rows = [[name, *(row.get(split, "-") for split in splits)] for name, row in scores.items()]
    return f"{grid(heads, rows)}<div>{text(known.get('verdict', ''))}</div>"
