"""`NodeClassifier`: labels that are missing or no classes, and sampled neighbours."""

from __future__ import annotations

import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Data

from gsina.estimators import NodeClassifier


def graph(num: int = 90, seed: int = 0) -> Data:
    """Three classes that the features tell, and edges within a class."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(num) % 3
    x = torch.nn.functional.one_hot(y, 3) + 0.3 * torch.randn(num, 3, generator=generator)
    source = torch.randint(num, (4 * num,), generator=generator)
    target = (source + 3 * torch.randint(1, 5, (4 * num,), generator=generator)) % num
    part = torch.randint(3, (num,), generator=generator)
    masks = {f"{name}_mask": part == place for place, name in enumerate(("train", "val", "test"))}
    edges = torch.cat([torch.stack([source, target]), torch.stack([target, source])], 1)
    return Data(x=x, edge_index=edges, y=y, **masks)


def test_a_label_of_minus_one_in_the_graph_is_missing():
    data = graph()
    data.y[::4] = -1
    model = NodeClassifier(epochs=30, hidden_channels=16).fit(data)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(data) > 0.8  # of the labels that are there
    given = NodeClassifier(epochs=1).fit(data, y=data.y)
    assert given.classes_.tolist() == [-1, 0, 1, 2]


def test_labels_of_one_and_minus_one_are_refused_in_the_graph_and_fine_beside_it():
    data = graph()
    data.y = 2 * (data.y > 0).long() - 1
    with pytest.raises(ValueError, match=r"-1 in `y` of a graph is a missing one.*give the labels"):
        NodeClassifier().fit(data)
    assert NodeClassifier(epochs=1).fit(data, y=data.y).classes_.tolist() == [-1, 1]


def test_numbers_are_no_classes():
    data = graph()
    data.y = torch.rand(90)
    with pytest.raises(ValueError, match=r"needs classes, got .* labels such as 0") as caught:
        NodeClassifier().fit(data)
    assert len(str(caught.value)) < 200


def test_an_unknown_label_does_not_list_hundreds_of_classes():
    data = graph(300)
    y = torch.arange(300) % 100
    data = Data(x=data.x, edge_index=data.edge_index, train_mask=y < 90, val_mask=y >= 90)
    with pytest.raises(ValueError, match=r"label 9. is none of the classes") as caught:
        NodeClassifier().fit(data, y=y)
    assert len(str(caught.value)) < 200


def test_sampled_neighbours(monkeypatch):
    from gsina.training import loop

    steps = []
    sample = loop.sampled_batches

    def watched(train, size, neighbours, shuffle):
        steps.append((size, neighbours))
        return sample(train, size, neighbours, shuffle)

    monkeypatch.setattr(loop, "sampled_batches", watched)
    data = graph()
    model = NodeClassifier(epochs=20, hidden_channels=16, neighbours=(4, 4), backbone="sage")
    assert clone(model).neighbours == (4, 4)
    assert model.fit(data).score(data) > 0.8
    assert set(steps) == {(512, (4, 4))}
    NodeClassifier(epochs=1, neighbours=(2,), batch_size=7).fit(data)
    assert steps[-1] == (7, (2,))
