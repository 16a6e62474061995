"""The property table: each figure on models whose answer is known, and the page."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import tiny
from gsina.files import to_json
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.paper.report.properties import Row, properties_page, rows_of, write_properties
from gsina.paper.studies.properties import (
    Properties,
    measure_properties,
    message_weights,
    property_result,
    score_gradients,
)
from gsina.runs.recipe import Recipe
from gsina.runs.run import Run


def model(name: str, backbone: str = "gin", **options: Any) -> Method:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 16})
    return build_method(name, spec, tiny.CLASSES, options).eval()


def test_a_hard_top_k_has_all_weight_and_all_gradient_on_its_top() -> None:
    graphs = tiny.motifs(4)
    found = measure_properties(model("dir", ratio=0.25), graphs, 0.25)
    counts = graphs.edge_ptr.diff()
    kept = float((0.25 * counts).ceil().sum() / counts.sum())
    assert found.top_share == pytest.approx(1)
    assert found.soft_share == pytest.approx(kept)
    assert found.reached == pytest.approx(kept, abs=0.01)
    assert found.outside == 0
    wider = measure_properties(model("dir", ratio=0.5), graphs, 0.25)
    assert 0.5 < wider.top_share < 1
    assert wider.outside > 0


def test_gsina_keeps_its_ratio_in_every_graph_and_reaches_every_edge() -> None:
    graphs = tiny.motifs(4)
    found = measure_properties(model("gsina", ratio=0.3), graphs, 0.3)
    assert found.mean_weight == pytest.approx(0.3, abs=1e-5)
    assert found.spread == pytest.approx(0, abs=1e-5)
    assert 0.3 < found.top_share < 1
    assert found.soft_share > 0.9
    assert found.reached == 1
    assert found.outside > 0.05
    cold = measure_properties(model("gsina", ratio=0.3, temperature=0.02), graphs, 0.3)
    assert cold.top_share > found.top_share
    assert cold.soft_share < 0.5


def test_gsat_is_soft_reached_and_bound_to_no_ratio() -> None:
    found = measure_properties(model("gsat"), tiny.motifs(4), 0.3)
    assert found.soft_share == 1
    assert found.reached > 0.99
    assert found.spread > 1e-4
    assert 0.3 < found.top_share < 0.5


@pytest.mark.parametrize("name", ["gsat", "dir", "gsina"])
def test_figures_do_not_depend_on_the_batch_and_leave_the_model_alone(name: str) -> None:
    graphs = tiny.ragged()
    method = model(name, "spmotifnet").train()
    whole = measure_properties(method, graphs, 0.3)
    single = measure_properties(method, graphs, 0.3, batch_size=1)
    values = asdict(whole)
    assert method.training
    assert all(parameter.grad is None for parameter in method.parameters())
    # The mean loss of one graph alone is that graph's; only the sizes of gradients change.
    assert {**asdict(single), "outside": 0} == pytest.approx({**values, "outside": 0}, abs=1e-5)


def test_weights_are_what_messages_are_multiplied_by() -> None:
    batch = tiny.whole(tiny.motifs(2))
    dir_ = model("dir", ratio=0.25)
    weights = message_weights(dir_, batch)
    removed = weights == 0
    assert 0.6 < removed.double().mean() < 0.8
    edge = dir_(batch).attention.edge.double()
    torch.testing.assert_close(weights[~removed], edge[~removed])
    gsina = model("gsina")
    torch.testing.assert_close(message_weights(gsina, batch), gsina(batch).attention.edge.double())


def test_gradients_are_those_of_a_small_change_of_the_scores() -> None:
    batch = tiny.whole(tiny.motifs(1))
    method = model("gsat").double()
    batch = replace(batch, x=batch.x.double())
    gradients = score_gradients(method, batch)
    scorer, step = method.scorer, 1e-6
    for edge in (0, 5, batch.num_edges - 1):
        change = torch.zeros(batch.num_edges, dtype=torch.float64)
        change[edge] = step
        losses = []
        for sign in (1, -1):
            handle = scorer.register_forward_hook(lambda *a, s=sign, c=change: a[2] + s * c)
            losses.append(method.loss(batch)["prediction"].item())
            handle.remove()
        slope = abs(losses[0] - losses[1]) / (2 * step)
        assert float(gradients[edge]) == pytest.approx(slope, rel=1e-3, abs=1e-8)


def test_methods_without_weighted_messages_are_refused() -> None:
    for name in ("erm", "gib"):
        with pytest.raises(ValueError, match=r"expected a model of gsat, dir or gsina"):
            measure_properties(model(name), tiny.motifs(1), 0.3)
    with pytest.raises(ValueError, match="one scorer of edges, got a GSAT with 0"):
        measure_properties(model("gsat", attention="node"), tiny.motifs(1), 0.3)
    with pytest.raises(ValueError, match="without any edge"):
        measure_properties(model("gsina"), tiny.ragged()[[1, 3]], 0.3)


def finished(name: str, seed: int, **options: Any) -> Run:
    """A run as if it had been trained."""
    values = {"data": {"name": "spmotif"}, "method": {"name": name, "options": options}}
    result = {
        "recipe": Recipe.parse(values).model_dump(),
        "seed": seed,
        "commit": "0123456789abcdef",
        "metrics": {},
    }
    trained: Any = SimpleNamespace(method=model(name, **options))
    return Run(trained, tiny.dataset(2), result)


def test_page(tmp_path: Path) -> None:
    runs = [finished("gsina", 0, ratio=0.3), finished("gsina", 1, ratio=0.3), finished("dir", 0)]
    results = [
        json.loads(to_json(property_result(run, 0.3, run.dataset.train, "a few graphs")))
        for run in runs
    ]
    rows = rows_of([*results, {"no": "properties"}])
    assert [row.method for row in rows] == ["gsina", "gsina", "dir"]
    path = tmp_path / "docs/properties.md"
    write_properties(path, rows)
    page = path.read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| ")][1:]
    hard, ours = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    assert (hard[0], ours[0]) == ("DIR (hard top-k), r = 0.25", "GSINA, r = 0.3")
    assert (hard[1], hard[4], hard[6]) == ("Yes", "No", "Partially")
    assert (ours[1], ours[4], ours[6]) == ("Yes", "Yes", "Fully")
    assert ours[3] == "0.300 ± 0.000"
    assert ours[7] == "100.0 ± 0.0 %"
    assert hard[2] == "100.0 % on 30 %"  # one seed has no deviation
    assert "Measured on: a few graphs. Seeds: 0, 1. Commits: 0123456789." in page


def test_page_without_rows_and_with_undefined_figures() -> None:
    assert "Not measured yet." in properties_page([])
    odd = Properties(1.0, 1.0, 1.0, 0.0, 0.0, 1.0, math.nan)
    assert "| nan |" in properties_page([Row("gsina", "r = 1.0", 0, "", "graphs", odd)])
    result = {**finished("gsina", 0).result, "properties_of": "x", "properties": asdict(odd)}
    result["properties"]["outside"] = None
    assert math.isnan(rows_of([result])[0].properties.outside)
