"""The trainings that a plan consists of, one or several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tiny
from gsina.methods import make_config
from gsina.models.folder import load_model, save_model
from gsina.models.model import Model
from gsina.models.plan import RATIOS, Plan, own_data_options, trial_folders
from gsina.models.train import named_spec, train_model
from gsina.training import Settings
from gsina.training.checkpoint import FILE as CHECKPOINT

SIZES = {"hidden_channels": 8, "num_layers": 2}


def plan(**settings: object) -> Plan:
    data = tiny.dataset(per_class=3)
    spec = named_spec("gin", data.train.num_features, data.train.num_edge_features, SIZES)
    return Plan(spec, settings=Settings(epochs=1, batch_size=4), **settings)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Path]:
    out = tmp_path_factory.mktemp("three")
    return train_model(tiny.dataset(per_class=3), plan(seed=4, ensemble=3), out=out).model, out


def test_members_are_what_their_seeds_give_alone(three):
    model, out = three
    graphs = tiny.motifs(2)
    found = model.predict(graphs)
    for place in range(3):
        alone = train_model(tiny.dataset(per_class=3), plan(seed=4 + place)).model
        assert torch.equal(found.members[:, place], alone.predict(graphs).logits)
    assert [one["seed"] for one in model.training["members"]] == [4, 5, 6]
    assert trial_folders(out) == [out, *(out / f"member-{place}" for place in range(3))]


def test_the_spread_is_of_the_probability_of_the_answer(three):
    model, _ = three
    found = model.predict(tiny.motifs(2))
    shares = model.probabilities(found.members)
    answer = model.classes(found.logits)
    expected = [float(shares[row, :, best].std(correction=0)) for row, best in enumerate(answer)]
    assert torch.allclose(model.spread(found).flatten(), torch.tensor(expected))
    assert model.spread(found).max() > 0
    single = replace(found, members=None)
    with pytest.raises(ValueError, match="one member, so there is no spread"):
        model.spread(single)


def test_an_ensemble_comes_back_from_its_folder(three, tmp_path):
    model, _ = three
    save_model(tmp_path, model)
    again = load_model(tmp_path)
    assert again.architecture.members == 3
    assert again.calibration == model.calibration
    before, after = (one.predict(tiny.motifs(2)) for one in (model, again))
    assert torch.equal(before.logits, after.logits)
    assert torch.equal(before.members, after.members)
    assert "The mean of 3 gsina models" in (tmp_path / "README.md").read_text()


def test_the_first_member_chooses_the_ratio_of_all(tmp_path):
    made = plan(auto_ratio=True, ensemble=2)
    done = train_model(tiny.dataset(per_class=3), made, out=tmp_path)
    assert len(done.model.training["ratios_tried"]) == len(RATIOS)
    assert len({member.config.ratio for member in done.model.method.members}) == 1
    kept = {folder.relative_to(tmp_path).as_posix() for folder in trial_folders(tmp_path)}
    expected = {f"member-0/ratio-{ratio}" for ratio in RATIOS} | {".", "member-0", "member-1"}
    assert kept == expected
    assert (tmp_path / "member-1" / CHECKPOINT).is_file()
    assert [record["member"] for record in done.records] == [0, 1]


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3"])
def test_an_ensemble_is_a_whole_number(wrong):
    with pytest.raises(ValueError, match="ensemble must be a whole number of members"):
        plan(ensemble=wrong)


def test_defaults_for_own_data_leave_what_was_given() -> None:
    assert own_data_options("erm", {}, "graph") == {}
    assert own_data_options("gsina", {}, "graph") == {"scorer": "plain", "expected": True}
    assert own_data_options("gsina", {}, "node") == {"scorer": "plain"}
    given = {"scorer": "normed", "expected": False, "ratio": 0.3}
    assert own_data_options("gsina", given, "graph") == given


@pytest.mark.parametrize("given", [{"regulariser": "quadratic"}, {"transport": "padded"}])
def test_defaults_for_own_data_fit_what_was_given(given: dict[str, str]) -> None:
    options = own_data_options("gsina", given, "graph")
    assert options == {"scorer": "plain", **given}
    make_config("gsina", options)  # together with weights that make up for noise it is refused
