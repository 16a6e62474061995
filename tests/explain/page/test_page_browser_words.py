"""What the page says, in a real browser: targets, names of nodes, atoms and bonds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure

import page_cases
from gsina.explain.page.molecule import draw_molecule
from gsina.explain.pictures.inline import INK, to_inline_svg
from gsina.ops.budget import Budget
from processes import wait_until

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


def test_many_targets_and_their_truth(show: Open) -> None:
    truth = (1.0, 0.0, float("nan"), *[1.0] * 27)
    names = tuple(f"target {i}" for i in range(30))
    given = {"probabilities": (), "values": (0.25,) * 30, "output_names": names}
    page = show(page_cases.cycles(1, **given, target_truth=truth))
    page.locator(".open").click()
    shown = page.locator("#large-outputs .known").all_text_contents()
    assert shown[:3] == ["true: 1", "true: 0", "true: unknown"]
    assert "30 targets; scroll" in page.locator(".outputs-more").inner_text()
    page.locator(".outputs.scrolls").focus()
    page.keyboard.press("End")
    wait_until(lambda: page.evaluate("document.querySelector('.outputs').scrollTop") > 0)


def test_the_neighbourhood_of_a_node(show: Open) -> None:
    names = ("acc-0", "", *(f"acc-{node}" for node in range(2, 8)))
    page = show(page_cases.cycles(1, node_labels=names, centre=2))
    page.locator(".open").click()
    listed = " ".join(page.locator("#edges .edge-name").all_text_contents())
    assert "acc-2 \u2013 acc-3" in listed
    assert "acc-0 \u2013 node 1" in listed
    assert "predicted node" in page.locator("#legend").inner_text()
    page.keyboard.press("Escape")
    with_centre = page.evaluate("gsina.graphs[0].canvas.toDataURL()")
    page = show(page_cases.cycles(1, node_labels=names))
    assert page.evaluate("gsina.graphs[0].canvas.toDataURL()") != with_centre


def test_words_for_molecules_order_and_caption(show: Open) -> None:
    ring = draw_molecule("C1CCCCCCC1")
    assert ring is not None
    page = show(
        page_cases.cycles(
            3, node_labels=ring.symbols, drawing=ring, positions=torch.from_numpy(ring.positions)
        ),
        molecules=True,
        order="Most confident",
        scores_table=[("split", "accuracy"), ("test", "1")],
        scores_caption="scores of then",
    )
    assert page.locator("#words-0").inner_text().startswith("8 atoms, 8 bonds")
    assert page.locator("#density-text").inner_text() == "Mean weight 0.400 over 24 bonds."
    page.locator(".open").first.click()
    said = page.locator("#edges-title").inner_text() + page.locator("#sliders").inner_text()
    assert "Strongest bonds" in said
    assert "Share of bonds kept" in said
    assert "not the prediction" in said
    options = page.locator("#sort option").all_text_contents()
    assert options == ["Most confident", "Least confident", "Name"]
    assert page.locator("#sort").input_value() == "order"
    assert page.locator("#scores caption").inner_text() == "scores of then"


def test_words_for_baselines_and_an_explainer(show: Open) -> None:
    figure = Figure(figsize=(3, 2))
    figure.add_subplot().plot([1, 2], [2, 1], "o-", color=INK, label="<b>")
    page = show(
        page_cases.cycles(2),
        dark=True,
        width=400,
        comparison_table=[("accuracy", "test"), ("ERM", "50.0 %")],
        verdict="Best on validation data: <i>ERM</i>.",
        pictures=[(to_inline_svg(figure, "curve"), "A curve of <i>answers</i>.")],
        explainer="GNNExplainer",
    )
    assert page.locator("#comparison").inner_text().split() == [
        *("accuracy", "test", "ERM", "50.0", "%")
    ]
    assert page.locator("#verdict").inner_text() == "Best on validation data: <i>ERM</i>."
    assert page.locator("#pictures figcaption").inner_text() == "A curve of <i>answers</i>."
    box = page.locator("#pictures svg").bounding_box()
    assert 250 < box["width"] <= 400
    line = page.locator("#pictures svg path[stroke=currentColor]").last
    colour = line.evaluate("element => getComputedStyle(element).stroke")
    assert colour == page.evaluate("getComputedStyle(document.body).color")
    assert page.locator("#whose").inner_text() == "Shown are the weights of GNNExplainer."
    page.locator("#ratio-number").fill("0.7")
    assert "not those of GNNExplainer" in page.locator("#whose").inner_text()
    page.locator("#reset").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_words_for_how_far_to_believe_it(show: Open) -> None:
    words = "Without the marked edges (2 of 8) the probability falls from 0.93 to 0.41."
    page = show(
        page_cases.cycles(2, faithfulness={"words": words, "before": 0.93, "random_only": 0.5}),
        evidence_table=[("", "explanation", "random"), ("needed", "90 %", "12 %")],
    )
    assert page.locator(".card .evidence").all_inner_texts() == [words, words]
    assert page.evaluate("gsina.graphs[0].faithfulness.randomOnly") == 0.5
    table = page.locator("#evidence")
    assert not table.is_visible()
    page.locator("#believed summary").click()
    assert "12 %" in table.inner_text()
    without = show(page_cases.cycles(1))
    assert not without.locator("#believed").is_visible()
    assert without.locator(".evidence").count() == 0


def test_a_certified_share_is_where_the_slider_starts(show: Open) -> None:
    graphs = page_cases.cycles(3)
    page = show(graphs, certified=Budget(share=0.72))
    assert page.locator("#ratio-number").input_value() == "0.72"
    right = page_cases.weights(graphs[0].scores, graphs[0].copies, 0.72, page_cases.TAU)
    assert page.evaluate("gsina.weights(0)") == pytest.approx(right.tolist(), abs=1e-6)
    said = page.locator("#whose")
    assert said.inner_text().startswith(
        "Shown is the certified share of the edges, 0.72; the model"
    )
    page.locator("#reset").click()
    page_cases.settle(page)
    assert said.inner_text() == "Shown are the model\u2019s own weights."
    assert page.locator("#ratio-number").input_value() == f"{page_cases.RATIO:g}"
    in_edges = show(graphs, budget=Budget(count=3), certified=Budget(share=0.72))
    assert in_edges.locator("#ratio-number").input_value() == "3"  # a share has no place there
