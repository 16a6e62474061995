from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gsina.graphs.dataset import Dataset
from gsina.graphs.packed import PackedGraphs
from gsina.graphs.task import Task
from gsina.models.train import train_model
from gsina.runs.data import FileData
from gsina.runs.published import default_recipe
from gsina.runs.recipe import Recipe
from gsina.runs.run import run
from gsina.runs.toml import to_toml
from gsina.training import Diverged
from gsina.tuning import cluster as tune_cluster
from gsina.tuning import study as tune
from gsina.tuning.cluster import check_reachable, run_trials_on_ray
from gsina.tuning.report import best_toml, write_search
from gsina.tuning.space import KNOBS, knobs_of, with_settings
from gsina.tuning.study import Search, SearchResult, ended, open_study, run_trials, summary
from tiny import dataset as tiny_dataset

pytest.importorskip("optuna")


def recipe(epochs: int = 2, **settings: Any) -> Recipe:
    return default_recipe("spmotif", epochs=epochs, batch_size=16, **settings)


def regression(per_class: int = 6) -> Dataset:
    """Numbers far from 0 and 1, to be told in their units."""
    drawn = tiny_dataset(per_class)
    parts = {
        name: replace(graphs, y=100 + 50 * graphs.labels("graph").float()[:, None])
        for name, graphs in drawn.splits.items()
    }
    return Dataset("numbers", Task("regression", 1, "rmse"), parts)


def file_recipe_for(name: str = "numbers") -> Recipe:
    return Recipe.parse(
        {
            "data": {"kind": "graphs", "files": [f"{name}.jsonl"]},
            "method": {"name": "gsina"},
            "backbone": {"name": "gin", "options": {"hidden_channels": 16}},
            "optimiser": {"epochs": 2, "batch_size": 16},
            "selection": {"rule": "strict-best"},
        }
    )


def url(folder: Path) -> str:
    return tune.default_storage(folder)


def search_in(folder: Path, search: Search, trials: int, **more: Any) -> SearchResult:
    study = open_study(search, url(folder), "test")
    list(run_trials(search, study, trials, **more))
    return summary(search, study)


class Armed(dict):
    """Splits of which only those for training may be looked at, once ``armed``."""

    armed = False

    def _check(self, split: str | None = None) -> None:
        if self.armed and split not in ("train", "val"):
            raise AssertionError(f"the search looks at {split or 'all splits'}")

    def __getitem__(self, split: str) -> PackedGraphs:
        self._check(split)
        return super().__getitem__(split)

    def __iter__(self) -> Iterator[str]:
        self._check()
        return super().__iter__()

    def items(self) -> Any:
        self._check()
        return super().items()

    def values(self) -> Any:
        self._check()
        return super().values()


def test_test_data_are_never_touched(tmp_path):
    whole = tiny_dataset(4)
    splits = Armed(whole.splits | {"id_test": whole.test})
    dataset = Dataset("armed", whole.task, splits)
    splits.armed = True
    with pytest.raises(AssertionError, match="looks at test"):
        dataset.test  # noqa: B018
    search = Search.of(recipe(), dataset)
    assert set(search.dataset.splits) == {"train", "val"}
    tuned = search_in(tmp_path, search, 2)
    assert len(tuned.trials) == 2
    write_search(tuned, open_study(search, url(tmp_path), "test"), tmp_path)


def test_labels_of_other_nodes_are_taken_out():
    y, mask = torch.tensor([0, 1, 2, 1]), torch.tensor([True, False, True, False])
    graphs = PackedGraphs(
        x=torch.ones(4, 2),
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        node_ptr=torch.tensor([0, 4]),
        edge_ptr=torch.tensor([0, 2]),
        node_y=y,
        mask=mask,
    )
    dataset = Dataset(
        "nodes",
        Task("multiclass", 3, level="node"),
        {"train": graphs, "val": replace(graphs, mask=~mask), "test": graphs},
    )
    left = tune.without_test(dataset)
    assert left.train.node_y.tolist() == [0, -1, 2, -1]
    assert left.val.node_y.tolist() == [-1, 1, -1, 1]
    assert y.tolist() == [0, 1, 2, 1]


def test_a_search_goes_on_as_if_it_had_not_stopped(tmp_path):
    search = Search.of(recipe(), tiny_dataset(3))
    whole = search_in(tmp_path / "whole", search, 4)
    search_in(tmp_path / "parts", search, 2)
    study = open_study(search, url(tmp_path / "parts"), "test")
    assert ended(study) == 2
    assert len(list(run_trials(search, study, 4))) == 2
    parts = summary(search, study)
    assert [(one.number, one.settings, one.value) for one in parts.trials] == [
        (one.number, one.settings, one.value) for one in whole.trials
    ]
    assert list(run_trials(search, study, 4)) == []
    # The first trial is the recipe as it is, so a search can only improve on it.
    first = next(one for one in whole.trials if one.number == 0)
    assert with_settings(search.recipe, first.settings).method == search.recipe.method
    assert first.settings["learning_rate"] == search.recipe.optimiser.learning_rate


def test_a_ratio_that_a_budget_replaces_is_not_varied():
    counted = recipe(options={"budget": 4})
    varied = [{knob.name for knob in knobs_of(one)} for one in (recipe(), counted)]
    assert varied[0] - varied[1] == {"ratio"}


def test_no_trial_begins_after_the_time(tmp_path):
    assert search_in(tmp_path, Search.of(recipe(), tiny_dataset(3)), 4, timeout=0).trials == ()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (lambda: Search.of(recipe(3), tiny_dataset(3)), "optimiser"),
        (lambda: Search.of(recipe(), tiny_dataset(4)), "data"),
        (lambda: Search.of(recipe(), tiny_dataset(3), seed=1), "seed"),
        (lambda: Search.of(recipe(), tiny_dataset(3), fixed=["ratio"]), "vary"),
    ],
)
def test_trials_of_another_search_are_refused(tmp_path, changed, named):
    open_study(Search.of(recipe(), tiny_dataset(3)), url(tmp_path), "test")
    with pytest.raises(ValueError, match=rf"other settings or data \({named}\); choose another"):
        open_study(changed(), url(tmp_path), "test")


def test_the_best_recipe_gives_the_value_that_was_told(tmp_path):
    dataset = tiny_dataset(4)
    tuned = search_in(tmp_path, Search.of(recipe(), dataset, seed=3), 3)
    path = tmp_path / "best.toml"
    path.write_text(best_toml(tuned))
    result = run(Recipe.read(path), 3, dataset=dataset).result
    assert tuned.best is not None
    assert result["metrics"]["val"]["accuracy"] == tuned.best.value
    values = [one.value for one in tuned.trials]
    assert values == sorted(values, reverse=True)


def test_a_recipe_of_numbers_is_minimised_in_their_units(tmp_path):
    dataset = regression()
    tuned = search_in(tmp_path, Search.of(file_recipe_for(), dataset), 3)
    path = tmp_path / "best.toml"
    path.write_text(best_toml(tuned))
    best = Recipe.read(path)
    assert isinstance(best.data, FileData)
    model = train_model(tune.without_test(dataset), best.plan(dataset, 0)).model
    assert tuned.best is not None
    assert tuned.best.value == pytest.approx(model.score(dataset.val)["rmse"], rel=1e-4)
    values = [one.value for one in tuned.trials]
    assert values == sorted(values)
    assert values[0] > 10


def pretend(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> None:
    """Trials whose validation metric after every epoch is ``outcome(trial, epoch)``."""
    count = iter(range(100))

    def train(recipe: Recipe, seed: int, *, dataset: Dataset, listeners: Any) -> SimpleNamespace:
        number, metric = next(count), dataset.task.metric
        for epoch in range(10):
            for listener in listeners:
                listener.on_epoch({"epoch": epoch, "val": {metric: outcome(number, epoch)}})
        return SimpleNamespace(result={"best_epoch": 9})

    monkeypatch.setattr(tune, "run", train)


def test_what_falls_behind_the_median_is_stopped(tmp_path, monkeypatch):
    pretend(monkeypatch, lambda number, epoch: 0.9 - 0.1 * number)
    search = Search.of(recipe(), tiny_dataset(3))
    tuned = search_in(tmp_path, search, 8)
    states = {one.number: (one.state, one.epochs) for one in tuned.trials}
    assert [states[number] for number in range(4)] == [("finished", 10)] * 4
    assert [states[number] for number in range(4, 8)] == [("stopped", 6)] * 4
    assert tuned.best is not None
    assert (tuned.best.number, tuned.best.value) == (0, 0.9)
    written = write_search(tuned, open_study(search, url(tmp_path), "test"), tmp_path)
    assert {path.name for path in written} == {
        "best.toml",
        "trials.csv",
        "history.png",
        "slices.png",
    }
    assert (
        (tmp_path / "trials.csv").read_text().splitlines()[-1].startswith(("4,", "5,", "6,", "7,"))
    )


def test_importances_are_drawn_when_there_are_enough_trials(tmp_path, monkeypatch):
    pretend(monkeypatch, lambda number, epoch: 0.1 + 0.1 * number)
    search = Search.of(recipe(), tiny_dataset(3))
    tuned = search_in(tmp_path, search, 7)
    write_search(tuned, open_study(search, url(tmp_path), "test"), tmp_path)
    assert (tmp_path / "importances.png").stat().st_size > 1000


def test_a_trial_that_diverges_counts_as_a_bad_one(tmp_path, monkeypatch):
    def outcome(number: int, epoch: int) -> float:
        if number == 0 and epoch == 2:
            raise Diverged("training diverged")
        return 0.5

    pretend(monkeypatch, outcome)
    tuned = search_in(tmp_path, Search.of(recipe(), tiny_dataset(3)), 2)
    assert [(one.state, one.epochs) for one in tuned.trials] == [("finished", 10), ("diverged", 2)]


def test_an_interrupted_trial_does_not_count(tmp_path, monkeypatch):
    def outcome(number: int, epoch: int) -> float:
        if number == 1:
            raise KeyboardInterrupt
        return 0.5

    pretend(monkeypatch, outcome)
    search = Search.of(recipe(), tiny_dataset(3))
    with pytest.raises(KeyboardInterrupt):
        search_in(tmp_path, search, 3)
    study = open_study(search, url(tmp_path), "test")
    assert ended(study) == 1
    assert len(list(run_trials(search, study, 3))) == 2


def test_a_metric_that_is_never_a_number_ends_the_search(tmp_path, monkeypatch):
    trained = SimpleNamespace(result={"best_epoch": -1})
    monkeypatch.setattr(tune, "run", lambda *_, **more: trained)
    with pytest.raises(ValueError, match=r"no epoch of spmotif could be selected"):
        search_in(tmp_path, Search.of(recipe(), tiny_dataset(3)), 2)


def test_what_varies_depends_on_method_and_network():
    assert [knob.name for knob in knobs_of(recipe())] == [knob.name for knob in KNOBS]
    erm = default_recipe("spmotif", "spmotifnet", "erm")
    assert [knob.name for knob in knobs_of(erm, ["num_layers"])] == [
        "learning_rate",
        "hidden_channels",
    ]
    with pytest.raises(ValueError, match="nothing is left to tune: erm on spmotifnet"):
        knobs_of(erm, [knob.name for knob in KNOBS])
    for knob in KNOBS:
        assert knob.holds(knob.low)
        assert knob.holds(knob.high)
        assert not knob.holds(knob.high * 2)
        assert knob.holds(knob.now(recipe()))


def test_sentences_about_optuna_and_storages(tmp_path, monkeypatch):
    search = Search.of(recipe(), tiny_dataset(3))
    with pytest.raises(ValueError, match=r"the storage nonsense://u:\*\*\*@host/db cannot be used"):
        open_study(search, "nonsense://u:secret@host/db", "test")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ValueError, match=r"needs Optuna; install it with pip install 'gsina\[tune\]'"
    ):
        open_study(search, url(tmp_path), "test")


def test_an_sqlite_file_is_not_for_other_machines():
    for address in ("auto", "127.0.0.1:6379", "ray://localhost:10001"):
        check_reachable("sqlite:///study.db", address)
    check_reachable("postgresql://host/db", "10.0.0.7:6379")
    with pytest.raises(ValueError, match=r"10\.0\.0\.7:6379 on other machines cannot share an SQL"):
        check_reachable("sqlite:///study.db", "10.0.0.7:6379")


PLAIN = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8")),
)
VALUES = st.recursive(
    st.one_of(PLAIN, st.lists(PLAIN, max_size=3)),
    lambda inner: st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=4))
def test_toml_is_read_as_it_was_written(values):
    assert tomllib.loads(to_toml(values)) == _without_empty(values)


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Tables that hold nothing are left out."""
    deep = {
        name: _without_empty(value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return {name: value for name, value in deep.items() if values[name] != {}}


class Inline:
    """A cluster of two places that runs what it is given at once."""

    def __init__(self) -> None:
        self.done: dict[int, Any] = {}

    def nodes(self) -> list[dict[str, bool]]:
        return [{"Alive": True}]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def put(self, value: Any) -> Any:
        return value

    def remote(self, **options: Any) -> Any:
        return lambda function: SimpleNamespace(remote=partial(self._start, function))

    def _start(self, function: Any, *arguments: Any) -> int:
        self.done[len(self.done)] = function(*arguments)
        return len(self.done) - 1

    def wait(self, references: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        return references[:num_returns], references[num_returns:]

    def get(self, reference: int) -> Any:
        return self.done[reference]


def test_a_trial_that_two_workers_had_counts_once(monkeypatch, tmp_path):
    cluster, own = Inline(), tune_cluster._run_remote

    def worker(search, storage, name, turn, tracking):
        return cluster.done[0] if turn == 2 else own(search, storage, name, turn, tracking)

    monkeypatch.setattr(tune_cluster, "connect", lambda address: cluster)
    monkeypatch.setattr(tune_cluster, "_run_remote", worker)
    search = Search.of(recipe(1), tiny_dataset(3))
    found = list(run_trials_on_ray(search, url(tmp_path), "test", 3, "auto"))
    assert sorted(one.number for one in found) == [0, 1, 2]
    assert ended(open_study(search, url(tmp_path), "test")) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster")
def test_trials_on_ray_share_the_storage(tmp_path):
    search = Search.of(recipe(1), tiny_dataset(3))
    arguments = (search, url(tmp_path), "test", 3, "auto")
    ended_here = list(run_trials_on_ray(*arguments))
    assert list(run_trials_on_ray(*arguments)) == []
    study = open_study(search, url(tmp_path), "test")
    assert sorted(one.number for one in ended_here) == [0, 1, 2]
    assert ended(study) == 3
    assert len({tuple(one.settings.items()) for one in ended_here}) == 3
