"""DIR: the split, the two branches, the interventions and who learns from what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tiny
from gsina.graphs.batch import Batch
from gsina.graphs.task import Task
from gsina.methods.extracting.dir import DIR, DIRConfig
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.ops.groups import Groups
from gsina.ops.hard_top_r import hard_top_r


def model(backbone: str = "spmotifnet", task: Task = tiny.CLASSES, **options: Any) -> DIR:
    torch.manual_seed(0)
    return DIR.build(NetworkSpec(backbone, tiny.FEATURES, 1), task, DIRConfig(**options))


def total(terms: dict[str, Tensor]) -> Tensor:
    return torch.stack(list(terms.values())).sum()


@pytest.mark.parametrize("backbone", ["gin", "pna", "spmotifnet"])
@pytest.mark.parametrize("predict_from", ["raw", "embedding"])
def test_logits_are_those_of_the_causal_part_cut_out_by_hand(
    backbone: str, predict_from: str
) -> None:
    dir_ = model(backbone, predict_from=predict_from, ratio=0.4).eval()
    graphs = tiny.ragged()
    batch = tiny.whole(graphs)
    with torch.no_grad():
        logits, attention = dir_(batch)
        assert attention is not None
        assert attention.scores is not None
        torch.testing.assert_close(attention.edge, attention.scores.sigmoid())
        for number in range(len(graphs)):
            one = graphs.batch([number])
            x = dir_.extractor(one.x, one.edge_index, *_edge_attr(backbone, one))
            scores = attention.scores[batch.edge_graph == number]
            best = scores.argsort(descending=True)[: -(-4 * scores.numel() // 10)]
            edges = best.sort().values
            kept = one.edge_index[:, edges].unique()
            part = replace(
                one,
                x=(x if predict_from == "embedding" else one.x)[kept],
                edge_index=torch.searchsorted(kept, one.edge_index[:, edges]),
                edge_attr=None if one.edge_attr is None else one.edge_attr[edges],
                node_graph=one.node_graph[kept],
                edge_graph=one.edge_graph[edges],
            )
            h = dir_.predictor.embed(part, scores[edges].sigmoid())
            expected = dir_.predictor.classify(h, part)
            torch.testing.assert_close(logits[number : number + 1], expected, rtol=1e-4, atol=1e-5)


def _edge_attr(backbone: str, batch: Batch) -> list[Any]:
    return [] if backbone == "spmotifnet" else [batch.edge_attr]


def test_an_undirected_edge_has_one_score() -> None:
    batch = tiny.whole(tiny.ragged(undirected=True))
    attention = model("gin").eval()(batch).attention
    assert attention is not None
    assert batch.reverse is not None
    assert attention.scores is not None
    assert torch.equal(attention.scores, attention.scores[batch.reverse])
    torch.testing.assert_close(attention.edge, attention.edge[batch.reverse])


@pytest.mark.parametrize("epoch", [0, 1, 10])
def test_loss_written_out(epoch: int) -> None:
    dir_ = model(alpha=0.3, variance=2.0).eval()  # evaluation mode: no dropout to agree on
    batch = tiny.whole(tiny.motifs(2))
    terms = dir_.loss(batch, epoch)
    logits, attention = dir_(batch)
    assert attention is not None
    assert attention.scores is not None
    graphs = Groups(batch.edge_graph, batch.num_graphs, batch.num_edges)
    causal = hard_top_r(attention.scores, 0.25, graphs)
    inner = replace(batch, x=dir_.extractor(batch.x, batch.edge_index))
    rest = dir_._represent(inner, ~causal, -attention.scores)
    confounded = dir_.confounder(rest)
    losses = []
    for other in confounded:
        each = [
            F.cross_entropy(mine * other.sigmoid(), label)
            for mine, label in zip(logits, batch.labels, strict=True)
        ]
        losses.append(torch.stack(each).mean())
    risk = torch.stack(losses)
    strength = 0.3 * epoch**1.6
    expected = {
        "prediction": F.cross_entropy(logits, batch.labels),
        "confounder": F.cross_entropy(dir_.confounder_last(confounded), batch.labels),
        "intervention": strength * risk.mean(),
        "variance": 2 * strength * risk.var(),
    }
    assert terms.keys() == expected.keys()
    for name, term in terms.items():
        torch.testing.assert_close(term, expected[name], msg=name)


def test_the_rest_teaches_only_the_confounder() -> None:
    dir_ = model("gin")
    heads = [*dir_.confounder.parameters(), *dir_.confounder_last.parameters()]
    others = [p for p in dir_.parameters() if all(p is not head for head in heads)]
    terms = dir_.loss(tiny.whole(tiny.motifs(2)), epoch=5)
    of_rest = torch.autograd.grad(
        terms.pop("confounder"), [*heads, *others], retain_graph=True, allow_unused=True
    )
    assert all(grad is not None for grad in of_rest[: len(heads)])
    assert all(grad is None for grad in of_rest[len(heads) :])
    of_causal = torch.autograd.grad(total(terms), [*heads, *others], allow_unused=True)
    assert all(grad is None for grad in of_causal[: len(heads)])
    assert all(grad is not None for grad in of_causal[len(heads) :])


def test_the_rest_does_not_enter_the_running_statistics() -> None:
    dir_, same = model("gin"), model("gin")
    batch = tiny.whole(tiny.motifs(2))
    torch.manual_seed(1)
    dir_(batch)  # a training pass over the causal parts alone
    torch.manual_seed(1)
    same.loss(batch)
    after = dict(same.named_buffers())
    for name, value in dir_.named_buffers():
        torch.testing.assert_close(value, after[name], msg=name)
    assert all(
        norm.track_running_stats for norm in same.modules() if isinstance(norm, nn.BatchNorm1d)
    )


@pytest.mark.parametrize("backbone", ["gin", "pna", "spmotifnet"])
@pytest.mark.parametrize("ratio", [0.25, 1.0])
def test_trains_on_graphs_of_all_sizes(backbone: str, ratio: float) -> None:
    dir_ = model(backbone, ratio=ratio)
    for batch in (tiny.whole(tiny.ragged()), tiny.ragged().batch([0]), tiny.ragged().batch([1])):
        loss = total(dir_.loss(batch, epoch=3))
        loss.backward()
        assert loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in dir_.parameters())


def test_missing_labels_do_not_count() -> None:
    task = Task("binary", 2, "roc_auc")
    dir_ = model(task=task).eval()
    graphs = tiny.motifs(2)
    y = torch.randint(0, 2, (6, 2)).float()
    y[3:] = torch.nan
    batch = replace(tiny.whole(graphs), y=y)
    terms = dir_.loss(batch, epoch=2)
    logits = dir_(batch).logits
    assert all(term.isfinite() for term in terms.values())
    torch.testing.assert_close(
        terms["prediction"], F.binary_cross_entropy_with_logits(logits[:3], y[:3])
    )


def test_learns_a_small_set() -> None:
    dir_ = model("gin")
    batch = tiny.whole(tiny.motifs(4))
    optimiser = torch.optim.Adam(dir_.parameters(), 1e-2)
    first = dir_.step(batch, optimiser, 1)["prediction"]
    for _ in range(40):
        last = dir_.step(batch, optimiser, 1)["prediction"]
    assert float(last) < 0.5 * float(first)


def test_width_of_the_predictor() -> None:
    dir_ = model(predictor_channels=64)
    assert dir_.extractor.out_channels == 32
    assert dir_.predictor.network.out_channels == 64
    assert dir_(tiny.whole(tiny.ragged())).logits.shape == (7, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 1.5}, r"ratio must lie in \(0, 1\], got 1.5"),
        ({"alpha": -1.0}, "alpha must be 0 or more, got -1.0"),
        ({"scorer": "plan"}, "did you mean 'plain'"),
        ({"predict_from": "rw"}, "did you mean 'raw'"),
    ],
)
def test_refuses_settings_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DIRConfig(**options)


def test_needs_a_readout() -> None:
    dir_ = model()
    with pytest.raises(ValueError, match="needs a predictor with a readout and a head"):
        DIR(
            dir_.extractor,
            Predictor(dir_.predictor.network),
            dir_.confounder,
            32,
            tiny.CLASSES,
            DIRConfig(),
        )
