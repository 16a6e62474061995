"""What if beside trees, in a real browser: the page says what it cannot compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from gsina.explain.page import page_graphs
from gsina.explain.page.carry import carry
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.ops.budget import Budget
from network_cases import SMILES, make_model, molecules
from page_cases import settle
from processes import wait_until

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
ASPIRIN = 2


def test_beside_trees_the_search_is_about_the_network_alone_and_says_so(show: Open) -> None:
    graphs = replace(molecules(), graph_attr=torch.zeros(len(SMILES), 1))
    names = ("inactive", "active")
    made = make_model("gsina", "gin", graphs, Task("binary", 1), class_names=names, trees=(1, 1, 0))
    alone = made.network_alone()
    with torch.no_grad():  # one bond decides what the network says, and nothing what the model does
        made.method.last_layer.bias -= alone.predict(graphs).logits[ASPIRIN] - 0.002
        made.method.trees.base.fill_(5.0)
    shown = page_graphs(
        graphs, made.predict(graphs), made.task, names=SMILES, smiles=SMILES, class_names=names
    )
    page = show(shown, carried=carry(made, graphs), molecules=True, budget=Budget(share=0.5))
    page.locator(".open").nth(ASPIRIN).click()
    settle(page)
    assert "cannot be asked anew in this page" in page.locator("#whatif-hint").inner_text()
    assert page.locator("#whatif-alone").inner_text() == "The network alone says active (50 %)."
    assert (
        page.locator("#flip").inner_text()
        == "Fewest removals that change the network\u2019s answer"
    )
    page.locator("#flip").click()
    text = page.locator("#whatif-text")
    wait_until(lambda: text.inner_text().startswith("Without"))
    said = text.inner_text()
    assert "the network alone answers inactive instead of active" in said
    believed = page.locator("#faithful")
    wait_until(lambda: "the network\u2019s probability of inactive " in believed.inner_text())
    assert "With the trees\u2019 answer to the whole graph the model says active" in said
    gone = page.evaluate("[...gsina.state.open.edits.pairs]")
    assert float(alone.predict(without(graphs, gone)).logits) < 0
    assert page.locator("#whatif-alone").inner_text().startswith("The network alone says inactive")


def without(graphs: PackedGraphs, bonds: list[int]) -> PackedGraphs:
    """Aspirin without some bonds."""
    one = graphs[[ASPIRIN]].to_pyg()[0]
    stays = torch.ones(one.edge_index.size(1), dtype=torch.bool)
    for bond in bonds:
        stays[2 * bond : 2 * bond + 2] = False
    one.edge_index, one.edge_attr = one.edge_index[:, stays], one.edge_attr[stays]
    return PackedGraphs.from_pyg([one])
