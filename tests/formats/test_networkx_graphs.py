"""NetworkX graphs: attributes by name, directions, and what is refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
import torch

from gsina.formats.objects import read_objects


def path(kind: type = nx.Graph) -> Any:
    """Three nodes in a row, whose names are no numbers."""
    graph = kind()
    for place, node in enumerate("cab"):
        graph.add_node(node, size=place, place=[0.5, place], flag=place == 1)
    graph.add_edge("c", "a", weight=2)
    graph.add_edge("a", "b", weight=3.5)
    return graph


def test_attributes_become_features_in_the_order_of_their_names() -> None:
    found = read_objects(path())
    assert found.reading == {
        "attributes": {"node": {"flag": 1, "place": 2, "size": 1}, "edge": {"weight": 1}}
    }
    assert found.graphs.x.tolist() == [[0, 0.5, 0, 0], [1, 0.5, 1, 1], [0, 0.5, 2, 2]]
    assert found.graphs.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert found.graphs.edge_attr is not None
    assert found.graphs.edge_attr.flatten().tolist() == [2, 3.5, 2, 3.5]


def test_directions_loops_and_several_edges() -> None:
    assert read_objects(path(nx.DiGraph)).graphs.edge_index.tolist() == [[0, 1], [1, 2]]
    double = path(nx.MultiGraph)
    double.add_edge("c", "a", weight=7)
    assert read_objects(double).graphs.edge_index.size(1) == 6
    loop = path()
    loop.add_edge("b", "b", weight=0)
    assert read_objects(loop).graphs.edge_index.size(1) == 5


def test_graphs_without_attributes_edges_or_nodes() -> None:
    plain = nx.path_graph(3)
    found = read_objects([plain, nx.empty_graph(2), nx.empty_graph(0)])
    assert found.graphs.x.tolist() == [[1.0]] * 5
    assert found.graphs.edge_ptr.tolist() == [0, 4, 4, 4]
    lonely = nx.Graph()
    lonely.add_node("a", size=1, place=[1, 2], flag=True)
    mixed = read_objects([lonely, path()])
    assert mixed.graphs.edge_attr is not None
    assert mixed.graphs.edge_attr.shape == (4, 1)


def test_labels_and_masks() -> None:
    graph = path()
    graph.graph["y"] = 4
    assert read_objects([graph, graph]).graphs.y.tolist() == [4, 4]  # type: ignore[union-attr]
    for place, node in enumerate(graph):
        graph.nodes[node].update(y=place, train_mask=place == 0)
    found = read_objects(graph, "node")
    assert found.graphs.node_y.tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert found.objects[0].train_mask.tolist() == [True, False, False]
    assert found.graphs.x.size(1) == 4  # labels and masks are no features
    del graph.nodes["a"]["y"]
    with pytest.raises(ValueError, match="2 of 3 nodes of graph 0 have a y; expected all or none"):
        read_objects(graph, "node")


def test_the_features_of_the_training_are_read_again_in_their_order() -> None:
    reading = {"attributes": {"node": {"size": 1, "flag": 1}, "edge": {}}}
    found = read_objects(path(), reading=reading)
    assert torch.equal(found.graphs.x, torch.tensor([[0.0, 0], [1, 1], [2, 0]]))
    assert found.graphs.edge_attr is None
    with pytest.raises(ValueError, match=r"not trained on NetworkX .* \(flag, place, size\)"):
        read_objects(path(), reading={"kind": "graphs"})
    assert len(read_objects(nx.path_graph(3), reading={"kind": "graphs"}).graphs) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": "large"}, "attribute 'size' of node 'a' of graph 1 is 'large', expected a numb"),
        ({"size": None}, "attribute 'size' of node 'a' of graph 1 is None"),
        ({"place": [1]}, "'place' of node 'a' of graph 1 is 1 numbers, expected 2"),
    ],
)
def test_what_is_no_number_is_told(change: dict[str, Any], sentence: str) -> None:
    wrong = path()
    wrong.nodes["a"].update(change)
    with pytest.raises(ValueError, match=sentence):
        read_objects([path(), wrong])


def test_an_attribute_that_a_node_lacks_is_told() -> None:
    wrong = path()
    del wrong.nodes["b"]["flag"]
    with pytest.raises(ValueError, match="node 'b' of graph 0 has no attribute 'flag'"):
        read_objects(wrong)
    wrong = path()
    del wrong.edges["a", "b"]["weight"]
    with pytest.raises(ValueError, match="edge 1-2 of graph 0 has no attribute 'weight'"):
        read_objects(wrong)
    with pytest.raises(ValueError, match="expected a list of NetworkX graphs"):
        read_objects([path(), 3])
