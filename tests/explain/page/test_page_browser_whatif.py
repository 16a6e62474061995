"""What if, in a real browser: by pointer and by keyboard, at once, in light and dark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import tiny
from gsina.explain.page import page_graphs
from gsina.explain.page.carry import carry
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.model import Model
from gsina.ops.budget import Budget
from network_cases import SMILES, hundred_edges, make_model, molecules
from page_cases import settle
from processes import wait_until

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
ASPIRIN = 2
#: The places of two atoms of the open graph, and the middle of a bond, on the screen.
PLACES = """() => {
  const box = document.getElementById("large-canvas").getBoundingClientRect();
  const { points } = gsina.state.largeView, { ends } = gsina.state.open;
  const at = (i) => [box.left + points[2 * i], box.top + points[2 * i + 1]];
  return { atoms: Array.from({ length: points.length / 2 }, (_, i) => at(i)),
    bonds: Array.from({ length: ends.length / 2 }, (_, i) => {
      const [a, b] = [at(ends[2 * i]), at(ends[2 * i + 1])];
      return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    }) };
}"""


@pytest.fixture
def model() -> Model:
    names = ("inactive", "active")
    graphs = molecules()
    made = make_model("gsina", "gin", graphs, Task("binary", 1), class_names=names)
    with torch.no_grad():  # so near to a change that one bond decides
        made.method.last_layer.bias -= made.predict(graphs).logits[ASPIRIN] - 0.002
    return made


def open_page(show: Open, model: Model, graphs: PackedGraphs, **given: Any) -> Any:
    """The page of molecules, with the network of the model."""
    options = {key: given.pop(key) for key in ("names", "smiles") if key in given}
    shown = page_graphs(
        graphs,
        model.predict(graphs),
        model.task,
        **{"names": SMILES, "smiles": SMILES, **options},
        class_names=[str(name) for name in model.class_names],
        target_names=model.target_names,
    )
    carried = carry(model, graphs)
    return show(
        shown, carried=carried, molecules=True, budget=Budget(share=0.5), temperature=1.0, **given
    )


def open_graph(page: Any, number: int = ASPIRIN) -> None:
    page.locator(".open").nth(number).click()
    settle(page)


def active(model: Model, graphs: PackedGraphs) -> float:
    return float(model.probabilities(model.predict(graphs).logits)[0, 0])


def without(graphs: PackedGraphs, pairs: list[int] | None = None, node: int = -1) -> PackedGraphs:
    one = graphs[[ASPIRIN]].to_pyg()[0]
    stays = torch.ones(one.edge_index.size(1), dtype=torch.bool)
    for pair in pairs or []:
        stays[2 * pair : 2 * pair + 2] = False
    members = torch.arange(one.num_nodes) != node
    stays &= members[one.edge_index].all(0)
    place = members.long().cumsum(0) - 1
    one.edge_index, one.edge_attr = place[one.edge_index[:, stays]], one.edge_attr[stays]
    one.x = one.x[members]
    return PackedGraphs.from_pyg([one])


def shown_probability(page: Any) -> float:
    return float(page.evaluate("gsina.state.open.part.answer.probabilities[1]"))


@pytest.mark.parametrize("method", ["erm", "gsat", "gsina"])
@pytest.mark.parametrize("backbone", ["gin", "gcn", "sage", "ogb-gin"])
def test_logits_agree_with_python_in_the_browser(method: str, backbone: str, show: Open) -> None:
    graphs = molecules()
    made = make_model(method, backbone, graphs)
    page = open_page(show, made, graphs)
    found = page.evaluate(
        """() => {
          const data = JSON.parse(document.getElementById("data").textContent);
          const net = GsinaWhatIf.load(data.network);
          const ask = (graph) => GsinaWhatIf.ask(net, graph, GsinaWhatIf.noEdits(), []);
          return data.graphs.map((one) => Array.from(ask(GsinaWhatIf.input(one)).found.logits));
        }"""
    )
    assert float((torch.tensor(found) - made.predict(graphs).logits).abs().max()) < 1e-5


def test_a_click_removes_and_another_restores(show: Open, model: Model) -> None:
    graphs = molecules()
    page = open_page(show, model, graphs)
    open_graph(page)
    picture = "document.getElementById('large-canvas').toDataURL()"
    first, places = page.evaluate(picture), page.evaluate(PLACES)
    weights = page.evaluate(f"gsina.weights({ASPIRIN})")
    page.mouse.click(*places["bonds"][4])
    assert shown_probability(page) == pytest.approx(active(model, without(graphs, [4])), abs=1e-5)
    settle(page)
    assert "was 0." in page.locator("#large-outputs").inner_text()
    now = page.evaluate(f"gsina.weights({ASPIRIN})")
    right = model.predict(without(graphs, [4])).edge
    assert right is not None
    assert now[4] == 0
    assert now[:4] + now[5:] == pytest.approx(right[::2].tolist(), abs=1e-4)
    assert page.evaluate(picture) != first
    assert "removed" in page.locator("#edges li").first.inner_text()

    page.mouse.click(*places["atoms"][0])
    both = without(graphs, [4], node=0)
    assert shown_probability(page) == pytest.approx(active(model, both), abs=1e-5)
    page.mouse.click(*places["atoms"][0])
    page.mouse.click(*places["bonds"][4])
    assert page.evaluate("gsina.state.open.edits") is None
    settle(page)
    assert page.evaluate(f"gsina.weights({ASPIRIN})") == weights
    assert page.locator("#restore").is_disabled()

    page.mouse.click(*places["bonds"][4])  # who leaves finds the graph as it was
    page.locator("#close").click()
    settle(page)
    assert page.evaluate(f"gsina.weights({ASPIRIN})") == weights


def test_the_keyboard_removes_changes_and_restores(show: Open, model: Model) -> None:
    graphs = molecules()
    page = open_page(show, model, graphs)
    page.locator(".open").nth(ASPIRIN).focus()
    page.keyboard.press("Enter")
    settle(page)
    page.keyboard.press("ArrowDown")
    strongest = page.evaluate("gsina.state.marked")
    page.keyboard.press("Delete")
    assert page.evaluate("[...gsina.state.open.edits.pairs]") == [strongest]
    right = active(model, without(graphs, [strongest]))
    assert shown_probability(page) == pytest.approx(right, abs=1e-5)
    settle(page)
    assert "Removed: bond" in str(page.locator("#large-canvas").get_attribute("aria-label"))
    wait_until(lambda: "Removed bond" in page.locator("#live").inner_text())
    page.keyboard.press(" ")
    assert page.evaluate("gsina.state.open.edits") is None

    page.locator("#node").focus()
    page.keyboard.press("End")
    page.locator("#node-remove").focus()
    page.keyboard.press("Enter")
    assert shown_probability(page) == pytest.approx(
        active(model, without(graphs, node=12)), abs=1e-5
    )
    assert page.locator("#node-remove").inner_text() == "Restore it"
    page.locator("#restore").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("gsina.state.open.part") is None


def test_another_element_has_its_hydrogens(show: Open, model: Model) -> None:
    graphs = molecules()
    page = open_page(show, model, graphs)
    open_graph(page)
    page.locator("#tool-choose").check()
    places = page.evaluate(PLACES)
    page.mouse.click(*places["atoms"][0])  # the methyl group
    assert page.locator("#node").input_value() == "0"
    page.locator("#category").select_option(label="O")
    one = graphs[[ASPIRIN]].to_pyg()[0]
    assert one.x[0, [0, 2, 4]].tolist() == [5, 4, 3]
    one.x[0, [0, 2, 4]] = torch.tensor([7, 2, 1])  # hydroxyl: two neighbours, one a hydrogen
    right = active(model, PackedGraphs.from_pyg([one]))
    assert shown_probability(page) == pytest.approx(right, abs=1e-5)
    assert page.locator("#node option").first.inner_text() == "O0"
    page.locator("#feature").select_option(label="charge")
    page.locator("#category").select_option(label="-1")
    one.x[0, 3] = 4
    right = active(model, PackedGraphs.from_pyg([one]))
    assert shown_probability(page) == pytest.approx(right, abs=1e-5)
    label = page.evaluate("gsina.state.open.relabelled.get(0)")
    assert label == {"symbol": "O", "hydrogens": 1, "charge": "\u2212"}


def test_the_button_finds_the_fewest_removals(show: Open, model: Model) -> None:
    graphs = molecules()
    page = open_page(show, model, graphs)
    open_graph(page)
    before = page.locator("#large-verdict b").first.inner_text()
    page.locator("#flip").click()
    wait_until(lambda: "instead of" in page.locator("#whatif-text").inner_text())
    pairs = page.evaluate("[...gsina.state.open.edits.pairs]")
    text = page.locator("#whatif-text").inner_text()
    assert f"instead of {before}" in text
    assert page.locator("#large-verdict b").first.inner_text() != before
    cut = without(graphs, pairs)
    yes = bool(model.classes(model.predict(cut).logits)[0])
    assert ("active", "inactive")[yes] == before
    wait_until(lambda: "Without the" in page.locator("#faithful").inner_text())


def test_faithfulness_in_words(show: Open, model: Model) -> None:
    page = open_page(show, model, molecules())
    open_graph(page)
    wait_until(lambda: page.locator("#faithful").inner_text() != "")
    text = page.locator("#faithful").inner_text()
    assert text.startswith("Without the marked bonds (7 of 13) the probability of ")
    assert "with only them it is 0." in text
    assert "A random choice of as many: 0." in text
    open_graph_again = page.locator("#previous")
    open_graph_again.click()  # ethanol: one of its two bonds
    wait_until(
        lambda: "Without the marked bond (1 of 2) " in page.locator("#faithful").inner_text()
    )
    page.locator("#previous").click()  # methane has no bonds
    settle(page)
    assert page.locator("#faithful").inner_text() == ""
    page.locator("#node-remove").click()
    assert page.locator("#whatif-text").inner_text() == "The last atom stays."


def test_numbers_and_features_that_are_numbers(show: Open) -> None:
    graphs = replace(tiny.ragged(), y=None)
    task = Task("regression", 1, metric="rmse")
    made = make_model("gsina", "gin", graphs, task)
    names = [f"graph {number}" for number in range(len(graphs))]
    page = open_page(show, made, graphs, names=names, smiles=None)
    open_graph(page, 0)
    assert page.locator("#flip").is_hidden()
    page.locator("#feature").select_option(label="feature 3")
    page.locator("#number").fill("2.5")
    x = graphs[[0]].x.clone()
    x[0, 2] = 2.5
    right = float(made.predict(replace(graphs[[0]], x=x)).logits[0, 0])
    found = page.evaluate("gsina.state.open.part.answer.values[0]")
    assert found == pytest.approx(right, abs=1e-5)
    page.locator("#number").fill("")  # nothing is no number and changes nothing
    assert page.evaluate("gsina.state.open.part.answer.values[0]") == found


def test_several_targets_are_asked_one_by_one(show: Open) -> None:
    graphs = molecules()
    made = make_model("gsat", "gin", graphs, Task("binary", 3), target_names=("a", "b", "c"))
    page = open_page(show, made, graphs)
    open_graph(page)
    page.locator("#target").select_option(label="c")
    wait_until(lambda: "the probability of c " in page.locator("#faithful").inner_text())


@pytest.mark.parametrize("harm", ["numbers", "answer"])
def test_a_damaged_network_is_one_sentence(show: Open, model: Model, harm: str) -> None:
    graphs = molecules()
    carried = carry(model, graphs)
    broken = json.loads(json.dumps(carried.network))
    if harm == "numbers":
        broken["store"]["numbers"] = broken["store"]["numbers"][:-8]
    else:  # the network of another model
        broken["members"][0]["predictor"]["head"][0]["bias"] = None
        broken["members"][0]["predictor"]["readout"] = "max"
        broken["scale"] = {"mean": [9.0], "std": [1.0]}
    shown = page_graphs(graphs, model.predict(graphs), model.task, names=SMILES, smiles=SMILES)
    page = show(shown, carried=replace(carried, network=broken))
    open_graph(page)
    hint = page.locator("#whatif-hint").inner_text()
    assert hint.endswith("write the page again.")
    assert page.locator("#whatif-tools").is_hidden()
    assert page.locator("#edges li").count() == 13


def test_rounded_numbers_say_how_far_they_are_off(show: Open, model: Model) -> None:
    graphs = molecules()
    shown = page_graphs(graphs, model.predict(graphs), model.task, names=SMILES, smiles=SMILES)
    whole = carry(model, graphs)
    rounded = carry(model, graphs, room=int(0.6 * len(whole.network["store"]["numbers"])) + 2000)
    page = show(shown, carried=rounded)
    open_graph(page)
    hint = page.locator("#whatif-hint").inner_text()
    assert "rounded to 16 bits, which moves its output here by " in hint
    moved = float(hint.rsplit(" ", 1)[1].rstrip("."))
    assert 0 < moved < 1e-2


def test_a_graph_whose_features_had_no_room_cannot_be_changed(show: Open, model: Model) -> None:
    graphs = molecules()
    shown = page_graphs(graphs, model.predict(graphs), model.task, names=SMILES, smiles=SMILES)
    page = show(shown, carried=replace(carry(model, graphs), graphs=1))
    open_graph(page)
    assert "leaves out the features of this graph" in page.locator("#whatif-hint").inner_text()
    page.mouse.click(*page.evaluate(PLACES)["bonds"][4])
    assert page.evaluate("gsina.state.open.edits") is None
    page.locator("#close").click()
    open_graph(page, 0)
    assert page.locator("#whatif-tools").is_visible()


def test_without_attention_edges_can_be_removed_all_the_same(show: Open) -> None:
    graphs = molecules()
    made = make_model("erm", "gin", graphs)
    page = open_page(show, made, graphs)
    open_graph(page)
    assert page.locator("#edges-title").inner_text() == "All bonds"
    assert page.locator("#edges li").count() == 13
    page.locator("#edges").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Delete")
    settle(page)
    right = made.predict(without(graphs, [0])).logits.softmax(-1)[0].tolist()
    found = page.evaluate("gsina.state.open.part.answer.probabilities")
    assert found == pytest.approx(right, abs=1e-5)
    assert page.locator("#edges li").count() == 13


def test_a_page_without_a_network_has_no_questions(show: Open, model: Model) -> None:
    graphs = molecules()
    shown = page_graphs(graphs, model.predict(graphs), model.task, names=SMILES, smiles=SMILES)
    page = show(shown)
    open_graph(page)
    assert page.locator("#whatif").is_hidden()
    page.mouse.click(*page.evaluate(PLACES)["bonds"][4])
    assert page.evaluate("gsina.state.open.edits") is None


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_narrow_and_wide_in_light_and_dark(
    show: Open, model: Model, width: int, dark: bool
) -> None:
    page = open_page(show, model, molecules(), width=width, dark=dark)
    open_graph(page)
    page.evaluate("gsina.large.edit.toggle({ pair: 4 })")
    settle(page)
    wide = "[document.documentElement, document.getElementById('large')]"
    assert page.evaluate(f"{wide}.every((one) => one.scrollWidth <= one.clientWidth + 1)")
    for control in ("#node", "#feature", "#category", "#flip", "#restore"):
        box = page.locator(control).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    colour = "getComputedStyle(document.getElementById('faithful')).color"
    paper = "getComputedStyle(document.getElementById('large')).backgroundColor"
    assert contrast(page.evaluate(colour), page.evaluate(paper)) > 4.5


def contrast(one: str, other: str) -> float:
    """The ratio of two colours, as the guidelines for accessible pages define it."""

    def light(text: str) -> float:
        parts = [float(part) / 255 for part in text[text.index("(") + 1 : -1].split(",")[:3]]
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_hundred_edges_are_answered_at_once(show: Open) -> None:
    graphs = hundred_edges()
    made = make_model("gsina", "gin", graphs, options={"hidden_channels": 64})
    page = open_page(show, made, graphs, names=["large"], smiles=None)
    open_graph(page, 0)
    spent = []
    for pair in range(8):
        page.evaluate(
            "pair => { gsina.state.faithfulMs = 0; gsina.large.edit.toggle({ pair }); }", pair
        )
        wait_until(lambda: page.evaluate("gsina.state.faithfulMs") > 0)
        spent.append(page.evaluate("[gsina.state.answerMs, gsina.state.faithfulMs]"))
    assert min(sum(one) for one in spent) < 400, spent  # 100 on a machine that does nothing else
