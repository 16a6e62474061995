"""What a trained model keeps, its sets and intervals, and how often they hold the truth."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from gsina.errors import InputError
from gsina.methods.base import Method, label_loss
from gsina.models.folder import load_model, save_model
from gsina.models.uncertainty import fit
from gsina.models.uncertainty.answers import (
    coverage_notes,
    domain_percentiles,
    prediction_intervals,
    prediction_sets,
)
from gsina.models.uncertainty.calibration import Calibration
from gsina.models.uncertainty.coverage import measure_coverage
from gsina.models.uncertainty.reference import MOST, Reference, evenly
from models.uncertainty.drawn import TASKS, dataset, graphs, trained

ROWS = 3000


@pytest.fixture(scope="module", params=TASKS)
def case(request):
    task = TASKS[request.param]
    return task, trained(dataset(task, missing=0.15))


def test_coverage_of_exchangeable_rows_is_what_was_asked_for(case):
    task, model = case
    for wanted in (0.8, 0.9):
        found = measure_coverage(model, graphs(task, ROWS, 7, missing=0.1), wanted)
        # The bound is random by its validation rows, at least 80 per target and class.
        slack = 4 * math.sqrt(wanted * (1 - wanted) / 80)
        assert wanted - slack < found.found
        assert found.wanted == wanted
        assert found.labels == pytest.approx(
            0.9 * ROWS * (1 if task.kind == "multiclass" else task.outputs), rel=0.05
        )
        if task.kind == "regression":
            assert found.found < wanted + slack
            assert found.size > 0
        else:
            assert all(share > wanted - slack for share in found.by_class.values())
            assert 1 <= found.size <= 3


def test_more_coverage_means_larger_sets(case):
    task, model = case
    new = graphs(task, 500, 8)
    sizes = [measure_coverage(model, new, wanted).size for wanted in (0.5, 0.8, 0.95)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_set_holds_the_answer(case):
    task, model = case
    logits = model.predict(graphs(task, 200, 9)).logits
    if task.kind == "regression":
        ends = prediction_intervals(model, logits)
        assert ends.shape == (200, task.outputs, 2)
        assert bool(((ends[..., 0] < logits) & (logits < ends[..., 1])).all())
        with pytest.raises(InputError, match="predicts numbers, which have intervals"):
            prediction_sets(model, logits)
        return
    sets = prediction_sets(model, logits, 0.5)
    guess = model.classes(logits).view(200, -1, 1)
    assert bool(sets.gather(2, guess).all())
    with pytest.raises(InputError, match="predicts classes, which have sets"):
        prediction_intervals(model, logits)


def test_calibration_lowers_the_loss_on_validation_data(case):
    task, model = case
    if task.kind == "regression":
        assert model.calibration == Calibration()
        return
    val = dataset(task, missing=0.15).val
    logits, y = model.predict(val).logits, val.y
    assert y is not None
    after = label_loss(model.calibration.apply(logits), y, task)
    assert after <= label_loss(logits, y, task)


def test_everything_is_saved_and_loaded(case, tmp_path):
    task, model = case
    save_model(tmp_path, model)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "README.md",
        "model.json",
        "model.safetensors",
    ]
    again = load_model(tmp_path)
    assert again.calibration == model.calibration
    assert again.reference is not None
    assert model.reference is not None
    for name, value in model.reference.tensors().items():
        assert torch.equal(again.reference.tensors()[name].nan_to_num(-9), value.nan_to_num(-9))
    new = graphs(task, 50, 3)
    assert measure_coverage(again, new) == measure_coverage(model, new)


@pytest.mark.parametrize("name", ["classes", "yes or no", "number"])
def test_few_validation_rows_rule_nothing_out_and_say_so(name):
    task = TASKS[name]
    model = trained(dataset(task, val=6), epochs=1)
    logits = model.predict(graphs(task, 20, 5)).logits
    (note,) = coverage_notes(model, 0.9)
    assert "needs 9 validation rows" in note
    if task.kind == "regression":
        assert bool(prediction_intervals(model, logits).isinf().all())
    else:
        assert bool(prediction_sets(model, logits).all())
    assert coverage_notes(trained(dataset(task), epochs=1), 0.9) == []


def test_a_model_of_an_earlier_version_predicts_as_before(tmp_path):
    task = TASKS["classes"]
    model = trained(dataset(task, val=30), epochs=1)
    save_model(tmp_path, replace(model, reference=None, calibration=Calibration()))
    meta = json.loads((tmp_path / "model.json").read_text())
    del meta["calibration"]
    (tmp_path / "model.json").write_text(json.dumps(meta | {"format": 1}))
    old = load_model(tmp_path)
    new = graphs(task, 20, 5)
    assert old.reference is None
    assert torch.equal(old.predict(new).logits, model.predict(new).logits)
    logits = old.predict(new).logits
    assert torch.equal(old.probabilities(logits), logits.softmax(-1))
    with pytest.raises(InputError, match="train it again with this version of gsina"):
        measure_coverage(old, new)


def test_a_shift_is_corrected_for():
    """Errors grow with the feature that new rows have more of."""
    task = TASKS["number"]
    model = trained(dataset(task, val=1500), epochs=10)
    new = graphs(task, 1500, 11, shift=0.7)
    plain = measure_coverage(model, new, 0.9)
    mended = measure_coverage(model, new, 0.9, shift=True)
    assert plain.found < 0.85
    assert mended.found > plain.found + 0.03
    assert mended.size > plain.size


def test_rows_unlike_the_training_data_are_outside_the_domain():
    task = TASKS["yes or no"]
    model = trained(dataset(task), epochs=2)

    def middle(shift: float) -> float:
        states = model.predict(graphs(task, 400, 12, shift), states="label").states
        assert states is not None
        return float(domain_percentiles(model, states).median())

    assert middle(0) == pytest.approx(50, abs=15)
    assert middle(6) > 95


def test_without_a_last_layer_that_is_known_rows_lie_where_their_logits_do(monkeypatch):
    monkeypatch.setattr(Method, "last_layer", None)
    task = TASKS["classes"]
    model = trained(dataset(task), epochs=2)
    new = graphs(task, 50, 12)
    logits = model.predict(new).logits
    assert model.reference is not None
    assert model.reference.states.shape[1] == task.outputs
    assert domain_percentiles(model, logits).shape == (50,)
    assert measure_coverage(model, new, 0.9, shift=True).labels == 50
    with pytest.raises(InputError, match="does not say which layer makes its logits"):
        model.embed(new)


def test_class_weights_are_undone_in_probabilities_but_not_in_answers():
    task = TASKS["yes or no"]
    data = dataset(task, val=1500)
    model = trained(data, 15, class_weight="balanced")
    logits = model.predict(data.val).logits
    y = data.val.y
    assert y is not None
    share = float(y.mean())
    assert share < 0.4
    found, raw = (float(one.mean()) for one in (model.probabilities(logits), logits.sigmoid()))
    assert raw > share + 0.05
    assert abs(found - share) < (raw - share) / 2
    assert model.calibration.offset[0] < 0
    assert torch.equal(model.classes(logits), (logits > 0).long())
    (threshold,) = model.thresholds
    assert torch.equal(model.classes(logits), (model.probabilities(logits) > threshold).long())


def test_at_most_so_many_rows_are_kept():
    assert evenly(7).tolist() == list(range(7))
    rows = evenly(3 * MOST + 1)
    assert len(rows) == len(set(rows.tolist())) == MOST
    assert (int(rows[0]), int(rows[-1])) == (0, 3 * MOST)


def test_a_split_with_many_rows_is_thinned(monkeypatch):
    monkeypatch.setattr(fit, "MOST_TRAINED", 50)
    model = trained(dataset(TASKS["classes"]), epochs=1)
    assert model.reference is not None
    assert len(model.reference.train_states) == 50


def test_a_damaged_reference_is_refused():
    model = trained(dataset(TASKS["classes"], val=20), epochs=1)
    assert model.reference is not None
    tensors = model.reference.tensors()
    Reference.of_tensors(tensors)
    for change in (
        {"scores": torch.zeros(3)},
        {"states": torch.zeros(20, 2)},
        {"more": torch.ones(1)},
    ):
        with pytest.raises(InputError, match="is damaged; copy or train the model again"):
            Reference.of_tensors(tensors | change)
