"""The property table: each figure on models whose answer is known."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
import torch

import tiny
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.paper.studies.properties import (
    measure_properties,
    message_weights,
    score_gradients,
)


def model(name: str, backbone: str = "gin", **options: Any) -> Method:
    torch.manual_seed(0)
    spec = NetworkSpec(backbone, tiny.FEATURES, 1, {"hidden_channels": 16})
    return build_method(name, spec, tiny.CLASSES, options).eval()


@pytest.mark.parametrize("name", ["dir", "cigav2"])
def test_a_hard_top_k_has_all_weight_and_all_gradient_on_its_top(name: str) -> None:
    graphs = tiny.motifs(4)
    found = measure_properties(model(name, ratio=0.25), graphs, 0.25)
    counts = graphs.edge_ptr.diff()
    kept = float((0.25 * counts).ceil().sum() / counts.sum())
    assert found.top_share == pytest.approx(1)
    assert found.soft_share == pytest.approx(kept)
    assert found.reached == pytest.approx(kept, abs=0.01)
    assert found.outside == 0
    wider = measure_properties(model(name, ratio=0.5), graphs, 0.25)
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


@pytest.mark.parametrize("name", ["gsat", "dir", "cigav2", "gsina"])
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
        with pytest.raises(ValueError, match=r"expected a model of gsat, dir, ciga or gsina"):
            measure_properties(model(name), tiny.motifs(1), 0.3)
    with pytest.raises(ValueError, match="one scorer of edges, got a GSAT with 0"):
        measure_properties(model("gsat", attention="node"), tiny.motifs(1), 0.3)
    with pytest.raises(ValueError, match="without any edge"):
        measure_properties(model("gsina"), tiny.ragged()[[1, 3]], 0.3)
