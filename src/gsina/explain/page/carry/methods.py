"""Methods as the page computes them: GSINA, GSAT, and those whose one network predicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torch import nn

from gsina.errors import InputError
from gsina.explain.page.carry.affine import Affine
from gsina.explain.page.carry.backbones import Described, describe_backbone
from gsina.explain.page.carry.store import Store
from gsina.methods.base import Method, PlainMethod
from gsina.methods.ensemble import Ensemble
from gsina.methods.extracting.gsat import GSAT
from gsina.methods.gsina import GSINA
from gsina.methods.trees import WithTrees
from gsina.nn.attention import GraphSinkhornAttention
from gsina.nn.predictor import Predictor
from gsina.nn.scorer import NodeScorer, NormedScorer, PairLinear, PlainScorer


def members_of(method: Method) -> list[Method]:
    """The members of an ensemble, or the method itself; without the trees beside them."""
    if isinstance(method, WithTrees):
        method = method.network
    if not isinstance(method, Ensemble):
        return [method]
    return [member for member in method.members if isinstance(member, Method)]


def describe_method(method: Method, store: Store) -> Described:
    """A method in evaluation, its numbers put into the store.

    Raises:
        InputError: The page cannot compute what it does.
    """
    if isinstance(method, GSINA):
        return _gsina(method, store)
    if isinstance(method, GSAT) and type(method).forward is GSAT.forward:
        return {
            "kind": "gsat",
            "scorer": _scorer(method.scorer, store),
            "predictor": _predictor(method.predictor, store),
        }
    if isinstance(method, PlainMethod) and type(method).forward is PlainMethod.forward:
        return {"kind": "plain", "predictor": _predictor(method.predictor, store)}
    raise InputError(f"its method {type(method).__name__} is not known to the page")


def _gsina(method: GSINA, store: Store) -> Described:
    config, attention = method.config, method.attention
    refused = {
        "shares its budget out over a batch": config.scope != "graph",
        "makes Sinkhorn sweeps": config.solver != "exact",
        "pads its transport": config.transport != "exact",
        "averages over noisy draws": config.test_draws > 0,
        "cuts its subgraph hard": config.refit_epoch is not None,
    }
    for what, does in refused.items():
        if does:
            raise InputError(f"it {what}, which the page does not")
    return {
        "kind": "gsina",
        "extractor": describe_backbone(method.extractor, store),
        "scorer": _scorer(attention.scorer, store),
        "attention": _attention(attention),
        "embedding": config.predict_from == "embedding",
        "predictor": _predictor(method.predictor, store),
    }


def _attention(attention: GraphSinkhornAttention) -> Described:
    return {
        "budget": asdict(attention.budget),
        "temperature": attention.evaluation_temperature,
        "regulariser": attention.regulariser,
        "node": attention.node,
        "eps": attention.eps,
    }


def _predictor(predictor: Predictor, store: Store) -> Described:
    head = predictor.head
    layers: list[nn.Module] = list(head) if isinstance(head, nn.Sequential) else [head or nn.ReLU()]
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    if predictor.readout is None or any(
        not isinstance(layer, nn.Linear | nn.ReLU) for layer in layers
    ):
        raise InputError("it has a readout or head of its own, which the page does not know")
    return {
        "network": describe_backbone(predictor.network, store),
        "readout": predictor.readout,
        "head": [Affine.of(layer).put(store) for layer in linear],
    }


def _scorer(scorer: nn.Module, store: Store) -> Described:
    made: dict[str, Any] = {"of": "node" if isinstance(scorer, NodeScorer) else "edge"}
    if isinstance(scorer, NodeScorer | NormedScorer):
        made["second"] = Affine.of(scorer.second).put(store)
    elif not isinstance(scorer, PlainScorer):
        raise InputError("it has a scorer of its own, which the page does not know")
    first = Affine.of(scorer.first)
    if isinstance(scorer.first, PairLinear):  # on the two ends of an edge
        source, target = first.matrix.chunk(2)
        made["source"] = Affine(source).put(store)
        first = Affine(target, first.bias)
    return made | {"first": first.put(store), "last": Affine.of(scorer.last).put(store)}
