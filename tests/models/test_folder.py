"""The model folder: what it holds, what it refuses, and the same answers in a new process."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tiny
from gsina.errors import InputError
from gsina.files import load_tensors, save_tensors
from gsina.graphs.classes import Numbers
from gsina.graphs.task import Task
from gsina.listeners import OnEpoch
from gsina.methods import METHODS
from gsina.models import folder as model_folder
from gsina.models.folder import FORMAT, load_model, save_model
from gsina.models.model import Model, Scale, fingerprint_of_graphs
from gsina.models.plan import Plan
from gsina.models.train import named_spec, score_splits, train_model
from gsina.ops import compiled
from gsina.training import Settings

SIZES = {"hidden_channels": 8, "num_layers": 2}


def trained(method: str = "gsina", backbone: str = "gin", **options: object) -> Model:
    data = tiny.dataset(per_class=3)
    spec = named_spec(backbone, data.train.num_features, data.train.num_edge_features, SIZES)
    plan = Plan(spec, method, dict(options), settings=Settings(epochs=1, batch_size=4))
    data = replace(data, class_names=("a", "b", "<c>"))
    model = train_model(data, plan).model
    return replace(model, metrics=score_splits(model, data)[0])


@pytest.fixture(scope="module")
def model() -> Model:
    return trained(ratio=0.4)


def change(folder: Path, **values: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_the_temperature_of_the_last_epoch_comes_back(tmp_path):
    cooled = trained(ratio=0.4, temperature=2.0, final_temperature=0.5, anneal_epochs=1)
    cooled.method.train()
    cooled.method.loss(tiny.whole(tiny.motifs(2)), 1)
    save_model(tmp_path, cooled)
    again = load_model(tmp_path)
    assert again.method.attention.temperature == 0.5
    graphs = tiny.motifs(2)
    assert torch.equal(again.predict(graphs).logits, cooled.predict(graphs).logits)


def test_it_comes_back_the_same(model, tmp_path):
    save_model(tmp_path / "new" / "folder", model)
    again = load_model(tmp_path / "new" / "folder")
    for name in (
        "task",
        "architecture",
        "featuriser",
        "class_names",
        "training",
        "data",
        "metrics",
    ):
        assert getattr(again, name) == getattr(model, name)
    assert again.versions == model.versions
    assert again.architecture.method_options["noise"] == 1.0  # not given: a default may change
    assert again.data["fingerprint"] == fingerprint_of_graphs(tiny.motifs(3))
    before, after = (one.predict(tiny.motifs(4, "test")) for one in (model, again))
    assert torch.equal(before.logits, after.logits)
    assert torch.equal(before.edge, after.edge)
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "README.md",
        "model.json",
        "model.safetensors",
    ]


def test_a_model_is_loaded_onto_any_device(model, tmp_path, monkeypatch):
    """The meta device stands for one that is not there; where weights come from is not kept."""
    save_model(tmp_path, model)
    monkeypatch.setattr("gsina.models.folder.choose_device", torch.device)
    there = load_model(tmp_path, device="meta")
    assert {value.device.type for value in there.method.parameters()} == {"meta"}
    here = load_model(tmp_path)
    assert {value.device.type for value in here.method.parameters()} == {"cpu"}
    assert "device" not in (tmp_path / "model.json").read_text()


def test_a_device_that_is_not_there_is_named(model, tmp_path):
    save_model(tmp_path, model)
    with pytest.raises(InputError, match="no device xpu:63 here, only"):
        load_model(tmp_path, device="xpu:63")


@pytest.mark.skipif(compiled.kernels() is None, reason="the kernels were not built")
@pytest.mark.parametrize("there", [False, True], ids=["none", "of another version"])
def test_a_model_saved_with_kernels_answers_alike_where_they_are_not(tmp_path, monkeypatch, there):
    """Nothing of them is in the folder: torch computes the same, to rounding."""
    model, graphs = trained(ratio=0.4, scorer="plain"), tiny.motifs(4, "test")
    before = model.predict(graphs)
    save_model(tmp_path, model)
    compiled._library.cache_clear()
    if there:
        monkeypatch.setattr(compiled, "VERSION", -1)
    else:
        monkeypatch.setattr(compiled.PathFinder, "find_spec", lambda *_: None)
    try:
        assert compiled.kernels() is None
        after = load_model(tmp_path).predict(graphs)
    finally:
        compiled._library.cache_clear()
    torch.testing.assert_close(after.logits, before.logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(after.edge, before.edge, rtol=1e-4, atol=1e-5)


def test_identical_predictions_in_a_new_process(model, tmp_path):
    save_model(tmp_path / "model", model)
    graphs = tiny.motifs(3, "test")
    save_tensors(tmp_path / "graphs.safetensors", graphs.tensors())
    code = (
        "import sys; from pathlib import Path\n"
        "from gsina import load_model\n"
        "from gsina.files import load_tensors, save_tensors\n"
        "from gsina.graphs.packed import PackedGraphs\n"
        "place = Path(sys.argv[1])\n"
        "graphs = PackedGraphs(**load_tensors(place / 'graphs.safetensors')[0])\n"
        "found = load_model(place).predict(graphs)\n"  # the folder of a run has it as `model`
        "save_tensors(place / 'out.safetensors', {'logits': found.logits, 'edge': found.edge})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    there, _ = load_tensors(tmp_path / "out.safetensors")
    here = model.predict(graphs)
    assert torch.equal(there["logits"], here.logits)
    assert torch.equal(there["edge"], here.edge)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_comes_back(method, tmp_path):
    if "graph" not in METHODS[method].levels:
        pytest.skip("works on nodes only")
    made = trained(method)
    save_model(tmp_path, made)
    graphs = tiny.motifs(3, "val")
    again = load_model(tmp_path)
    assert torch.equal(again.predict(graphs).logits, made.predict(graphs).logits)


def test_a_pickle_in_the_folder_is_not_read(model, tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    save_model(tmp_path, model)
    for name in ("model.pkl", "model.pt", "pytorch_model.bin"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))
    load_model(tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_a_newer_format_says_so(model, tmp_path):
    save_model(tmp_path, model)
    change(tmp_path, format=FORMAT + 1)
    with pytest.raises(ValueError, match=r"written by a newer gsina \(format 3.*update gsina"):
        load_model(tmp_path)


def test_other_features_of_molecules_say_so(model, tmp_path):
    save_model(tmp_path, replace(model, featuriser={"kind": "molecules", "version": 99}))
    with pytest.raises(ValueError, match="features of version 99"):
        load_model(tmp_path)


def test_damage_gets_one_sentence(model, tmp_path):
    def expect(kind: type[Exception], match: str) -> None:
        with pytest.raises(kind, match=match) as caught:
            load_model(tmp_path)
        assert "\n" not in str(caught.value)

    expect(FileNotFoundError, "there is no model in")
    save_model(tmp_path, model)
    text, weights = (tmp_path / "model.json").read_text(), tmp_path / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-8])
    expect(ValueError, "damaged or belongs to another")
    weights.unlink()
    expect(FileNotFoundError, "has no model.safetensors")
    weights.write_bytes(whole)
    for broken in (text[:100], "[]", '{"format": 1}', "{}"):
        (tmp_path / "model.json").write_text(broken)
        expect(ValueError, "damaged|does not describe")
    (tmp_path / "model.json").write_text(text)
    made = json.loads(text)["architecture"]
    change(tmp_path, architecture=made | {"backbone_options": {"hidden_channels": 4}})
    expect(ValueError, "do not fit the network")
    change(tmp_path, architecture=made | {"method": "gsnia"})
    expect(ValueError, "did you mean 'gsina'")


@pytest.mark.parametrize("times", [1, 2])
def test_a_save_that_is_cut_off_loses_nothing(model, tmp_path, monkeypatch, times):
    def cut_off(*_: object) -> None:
        raise OSError("no space left")

    save_model(tmp_path, model)
    with monkeypatch.context() as patch:
        patch.setattr(model_folder, "save_json", cut_off)
        for _ in range(times):
            with pytest.raises(OSError, match="no space"):
                save_model(tmp_path, trained("erm"))
    weights = load_model(tmp_path).method.state_dict()
    for name, value in model.method.state_dict().items():
        assert torch.equal(weights[name], value)
    save_model(tmp_path, model)
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.safetensors",
        "model.json",
        "README.md",
    }


def test_a_mixture_of_two_models_is_noticed(model, tmp_path):
    save_model(tmp_path, model)
    old = (tmp_path / "model.safetensors").read_bytes()
    save_model(tmp_path, trained(ratio=0.6))
    (tmp_path / "model.safetensors").write_bytes(old)
    with pytest.raises(ValueError, match="belongs to another"):
        load_model(tmp_path)


def test_weights_that_are_not_finite_are_refused(model, tmp_path):
    broken = copy.deepcopy(model)
    with torch.no_grad():
        next(broken.method.parameters()).view(-1)[0] = torch.nan
    save_model(tmp_path, broken)
    with pytest.raises(InputError, match="hold NaN or infinite values"):
        load_model(tmp_path)


def test_sizes_that_the_weights_cannot_have_are_refused_before_anything_is_built(model, tmp_path):
    save_model(tmp_path, model)
    meta = json.loads((tmp_path / "model.json").read_text())
    meta["architecture"]["node_channels"] = 10**12
    change(tmp_path, **meta)
    with pytest.raises(InputError, match="do not fit the network that is described"):
        load_model(tmp_path)
    (tmp_path / "model.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="is damaged"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "calibration",
    [
        {"temperature": [float("nan")]},
        {"temperature": [0.0]},
        {"temperature": [-1.0]},
        {"temperature": []},
        {"offset": [float("inf"), 0.0, 0.0]},
    ],
    ids=str,
)
def test_a_calibration_that_makes_probabilities_nonsense_is_refused(model, tmp_path, calibration):
    save_model(tmp_path, model)
    change(tmp_path, calibration=calibration)
    with pytest.raises(InputError, match=r"damaged .*its calibration has"):
        load_model(tmp_path)


def test_a_task_of_another_level_than_the_files_is_refused(model, tmp_path):
    save_model(tmp_path, model)
    meta = json.loads((tmp_path / "model.json").read_text())
    reading = {"kind": "graphs", "version": 1, "features": {"node": 4, "edge": 0}}
    change(tmp_path, featuriser=reading, task=meta["task"] | {"level": "node"})
    with pytest.raises(InputError, match="graphs are not what its task is about"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "options", [{"test_draws": 10**9}, {"solver": "sinkhorn", "iterations": 10**12}], ids=str
)
def test_a_model_that_would_never_answer_is_refused(model, tmp_path, options):
    save_model(tmp_path, model)
    made = json.loads((tmp_path / "model.json").read_text())["architecture"]
    change(tmp_path, architecture=made | {"method_options": made["method_options"] | options})
    with pytest.raises(InputError, match=r"test_draws must be at most|iterations must be 1 to"):
        load_model(tmp_path)


def test_what_json_cannot_hold_is_refused_before_anything_is_written(model, tmp_path):
    with pytest.raises(ValueError, match="label of type object"):
        save_model(tmp_path / "new", replace(model, class_names=(object(), 1, 2)))
    module = {"scorer": torch.nn.Linear(16, 1)}
    made = replace(model.architecture, method_options=module)
    with pytest.raises(ValueError, match="cannot be saved"):
        save_model(tmp_path / "new", replace(model, architecture=made))
    assert not (tmp_path / "new").exists()


def test_the_card_shows_text_as_text(model, tmp_path):
    save_model(tmp_path, model)
    card = (tmp_path / "README.md").read_text()
    assert "\\<c\\>" in card
    assert "<c>" not in card.replace("\\<c\\>", "")
    assert "| training |" in card
    assert "ratio 0.4" in card


def test_scale_forgets_missing_numbers_and_keeps_constants():
    y = torch.tensor([[1.0, 5.0], [3.0, 5.0], [float("nan"), 5.0]])
    scale = Scale.of(y)
    assert scale.mean == (2.0, 5.0)
    assert scale.std == (1.0, 1.0)
    assert torch.equal(scale.restore(scale.remove(y))[:2], y[:2])


def test_scores_of_regression_are_in_units(tmp_path):
    task = Task("regression", 1, "rmse")
    splits = {
        name: replace(part, y=100 + 10 * part.y.float().view(-1, 1))
        for name, part in tiny.dataset(per_class=3).splits.items()
    }
    data = replace(tiny.dataset(per_class=3), task=task, splits=splits)
    spec = named_spec("gin", data.train.num_features, data.train.num_edge_features, SIZES)
    told: list[dict[str, dict[str, float]]] = []
    plan = Plan(spec, settings=Settings(epochs=1))
    done = train_model(data, plan, out=tmp_path, listeners=[OnEpoch(told.append)])
    (logged,) = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert logged == {**told[0], "epoch": 1}  # the log and the screen agree
    assert done.records == told
    scores = score_splits(done.model, data)[0]
    assert {"rmse", "r2", "loss"} <= scores["test"].keys()
    assert 80 < float(done.model.predict(data.test).logits.mean()) < 130
    assert told[0]["val"]["rmse"] == pytest.approx(scores["val"]["rmse"], rel=1e-4)


def test_errors_of_several_targets_are_in_standard_deviations_and_per_target_in_units():
    task = Numbers.of_targets(2).task
    assert task.metric == "scaled_rmse"
    splits = {
        name: replace(part, y=torch.stack([part.y.float(), 1e4 * part.y.float() ** 2], 1))
        for name, part in tiny.dataset(per_class=3).splits.items()
    }
    data = replace(tiny.dataset(per_class=3), task=task, splits=splits, target_names=("a", "b"))
    spec = named_spec("gin", data.train.num_features, data.train.num_edge_features, SIZES)
    told: list[dict[str, dict[str, float]]] = []
    plan = Plan(spec, settings=Settings(epochs=1))
    model = train_model(data, plan, listeners=[OnEpoch(told.append)]).model
    scores, targets = score_splits(model, data)
    assert told[0]["val"]["scaled_rmse"] == pytest.approx(scores["val"]["scaled_rmse"], rel=1e-4)
    assert told[0]["val"]["loss"] == pytest.approx(scores["val"]["loss"], rel=1e-4)
    errors = (model.predict(data.test).logits - data.test.y).square().mean(0).sqrt()
    assert [targets[name]["test"] for name in "ab"] == pytest.approx(errors.tolist(), rel=1e-4)
    scaled = (errors / torch.tensor(model.scale.std)).mean()
    assert scores["test"]["scaled_rmse"] == pytest.approx(float(scaled), rel=1e-4)
    old = replace(model, task=replace(task, metric="rmse"))  # of an earlier version
    pooled = (model.predict(data.test).logits - data.test.y).square().mean().sqrt()
    assert old.score(data.test)["rmse"] == pytest.approx(float(pooled), rel=1e-4)
