"""Weights of edges for any method, and who found them."""

from __future__ import annotations

import pytest
import torch

import tiny
from gsina.explainers import weights
from gsina.explainers.gnn_explainer import GNNExplainer
from gsina.explainers.weights import NotExplainable, cut_off, weigh
from gsina.methods import Method, build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training.evaluate import predict

QUICK = GNNExplainer(steps=20, learning_rate=0.1)


def method(name: str) -> Method:
    torch.manual_seed(0)
    spec = NetworkSpec("gin", tiny.FEATURES, 1, {"hidden_channels": 8})
    return build_method(name, spec, tiny.CLASSES, {}).eval()


@pytest.mark.parametrize("name", ["erm", "irm"])
def test_plain_networks_are_explained_afterwards(name: str, monkeypatch) -> None:
    monkeypatch.setattr(weights, "DEFAULT", "gnnexplainer,steps=20,learning_rate=0.1")
    plain, graphs = method(name), tiny.motifs(2)
    found = predict(plain, graphs)
    assert found.edge is None
    shown, explainer = weigh(plain, graphs, found)
    assert explainer == "GNNExplainer"
    assert shown.edge is not None
    assert shown.edge.shape == (graphs.edge_index.size(1),)
    assert 0 <= float(shown.edge.min()) < float(shown.edge.max()) <= 1
    assert torch.equal(shown.logits, found.logits)
    assert torch.equal(predict(plain, graphs).logits, found.logits)  # the model is left alone


def test_attention_is_an_explanation_already() -> None:
    attending, graphs = method("gsina"), tiny.motifs(2)
    found = predict(attending, graphs)
    own = weigh(attending, graphs, found)
    assert own.predictions is found
    assert (own.explainer, own.post_hoc) == ("attention", "")
    assert cut_off(attending, graphs, own) is own
    other = weigh(attending, graphs, found, QUICK)
    assert other.post_hoc == "GNNExplainer"
    assert not torch.equal(other.predictions.edge, found.edge)


def test_networks_that_cannot_be_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("edges are not used")

    monkeypatch.setattr(weights, "explain_split", refuse)
    plain, graphs = method("erm"), tiny.motifs(2)
    with pytest.raises(NotExplainable, match="explain a network that sends messages"):
        weigh(plain, graphs, predict(plain, graphs))
