"""The model card: a short page for those who receive a model folder."""

from __future__ import annotations

import math

from gsina.display import markdown_table
from gsina.errors import InputError
from gsina.formats import format_of
from gsina.graphs.split_names import SPLITS
from gsina.metrics import metric_label
from gsina.models.answers import decision
from gsina.models.comparison import main_scores
from gsina.models.model import Model


def model_card(model: Model) -> str:
    """The content of the folder's ``README.md``."""
    made, data = model.architecture, model.data
    lines = [
        f"# {_text(data.get('name') or 'A graph model')}",
        "",
        f"{_kind(model)} on a {made.backbone} network, trained with gsina "
        f"{model.versions.get('gsina', '')} ({model.created or 'no date'}).",
        "",
        f"- **Predicts**: {_predicts(model)}",
        *_threshold(model),
        f"- **Input**: {_text(model.featuriser.get('kind', 'graphs'))}",
        f"- **Trained on**: {_sizes(model)} (fingerprint {data.get('fingerprint', 'unknown')})",
    ]
    if data.get("split"):
        lines.append(f"- **Split**: {_text(data['split'])}")
    settings = made.method_options | made.backbone_options
    if settings:
        text = ", ".join(f"{name} {value}" for name, value in settings.items())
        lines.append(f"- **Settings**: {_text(text)}")
    lines += ["", *_scores(model), *_baselines(model)]
    lines += [
        "## Use",
        "",
        "```",
        *_use(model),
        "```",
        "",
        "The weights of edges and nodes say what the model looked at, not what causes the label. "
        "Expect it to be worse on data unlike its training data than the scores above.",
        "",
    ]
    return "\n".join(lines)


def hub_card(model: Model, name: str) -> str:
    """The card as the hub shows it: with a head for its search, and its name in the commands.

    Args:
        model: The model.
        name: How it is loaded, such as ``hf://user/name``.
    """
    kinds = {"regression": "graph-regression"}.get(model.task.kind, "graph-classification")
    tags = ["gsina", "graphs", kinds if model.task.level == "graph" else "node-prediction"]
    head = ["---", "library_name: gsina", "pipeline_tag: graph-ml", "tags:"]
    head += [f"- {tag}" for tag in tags]
    use = f'from gsina import load_model\nmodel = load_model("{name}")'
    text = model_card(model).replace("<this folder>", name)
    return "\n".join([*head, "---", "", text, "```python", use, "```", ""])


def _kind(model: Model) -> str:
    made = model.architecture
    what = f"A {made.method} model"
    if made.members > 1:
        what = f"The mean of {made.members} {made.method} models that differ by their seeds, each"
    if made.trees is not None:
        forest = "" if made.forest is None else " and a forest"
        what += f", averaged with boosted trees{forest} on features of whole graphs,"
    return what


def _use(model: Model) -> list[str]:
    """The commands that fit what the model was trained on."""
    try:
        files = " ".join(format_of(model.featuriser).new_files)
    except InputError:
        return ["from gsina import load_model  # no file format gives its graphs"]
    return [
        f"gsina predict <this folder> {files} -o predictions.csv",
        f"gsina explain <this folder> {files} -o page.html",
    ]


def _predicts(model: Model) -> str:
    task = model.task
    targets = ", ".join(_text(name) for name in model.target_names) or f"{task.outputs} outputs"
    if task.kind == "regression":
        return f"a number for each of: {targets}"
    classes = ", ".join(_text(name) for name in model.class_names)
    if task.kind == "multiclass":
        return f"one of {task.outputs} classes{f' ({classes})' if classes else ''}"
    return f"yes or no{f' ({classes})' if classes else ''} for each of: {targets}"


def _threshold(model: Model) -> list[str]:
    """A line about thresholds that were chosen, if they were."""
    return [f"- **Threshold**: {_text(said)}" for said in [decision(model)] if said]


def _sizes(model: Model) -> str:
    sizes = model.data.get("sizes") or {}
    parts = [f"{count:,} {SPLITS.get(split, split)}" for split, count in sizes.items()]
    return ", ".join(parts) or "unknown data"


def _scores(model: Model) -> list[str]:
    if not model.metrics:
        return []
    names = list(dict.fromkeys(name for row in model.metrics.values() for name in row))
    rows = [
        (SPLITS.get(split, _text(split)), *(_number(row.get(name)) for name in names))
        for split, row in model.metrics.items()
    ]
    return ["## Scores", "", markdown_table(("split", *names), rows, numbers_from=1)]


def _baselines(model: Model) -> list[str]:
    """The main metric beside that of the baselines, and what to think of it."""
    if not model.baselines.get("metrics"):
        return []
    metric = model.task.metric
    scores = main_scores(model.architecture.method, model.metrics, model.baselines, metric)
    heads = (metric_label(metric), *(SPLITS.get(split, _text(split)) for split in model.metrics))
    rows = [
        (_text(name), *(row.get(split, "-") for split in model.metrics))
        for name, row in scores.items()
    ]
    table = markdown_table(heads, rows, numbers_from=1)
    return ["## Baselines", "", table, _text(model.baselines.get("verdict", "")), ""]


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"


def _text(value: object) -> str:
    """Text of a user's file, harmless in Markdown and on one line."""
    plain = " ".join(str(value).split())
    for sign in "\\`*_{}[]<>|#":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
