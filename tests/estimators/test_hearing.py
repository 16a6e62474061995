"""Who hears of the training of an estimator."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from sklearn.base import clone

from estimator_cases import FEW, nodes, shapes
from gsina import GraphClassifier, NodeClassifier
from gsina.errors import InputError
from gsina.estimators import hearing
from gsina.listeners import Beginning, Ending, Listener
from gsina.listeners.progress import EpochProgress


class Ears(Listener):
    """Keeps the start, the epochs and the end."""

    heard: list[Any] = []  # noqa: RUF012  of the class: scikit-learn copies parameters

    def on_start(self, run: Beginning) -> None:
        self.heard.append(run)

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.heard.append(record["epoch"])

    def on_end(self, ending: Ending) -> None:
        self.heard.append(ending)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(Ears, "heard", [])
    return Ears.heard


def test_listeners_hear_of_start_epochs_and_end(heard: list[Any]) -> None:
    graphs, labels = shapes()
    model = clone(GraphClassifier(**FEW, listeners=[Ears()], method_options={"noise": 0.5}))
    model.fit(graphs, labels)
    start, *epochs, end = heard
    assert (start.name, start.data, start.epochs) == ("gsina", "graphs", 2)
    assert start.settings["estimator"] == "GraphClassifier"
    assert start.settings["method_options.noise"] == 0.5
    assert start.settings["seed"] == 0
    assert "listeners" not in start.settings
    assert epochs == [0, 1]
    assert end.state == "finished"
    assert end.metrics["val"] in [record["val"] for record in model.history_]


def test_estimators_of_nodes_too(heard: list[Any]) -> None:
    NodeClassifier(hidden_channels=8, epochs=1, listeners=Ears()).fit(nodes())
    assert [type(one).__name__ for one in heard] == ["Beginning", "int", "Ending"]


@pytest.mark.parametrize(("wrong", "sentence"), [("tensorbord", "did you mean"), (3, "got 3")])
def test_wrong_listeners(wrong: Any, sentence: str) -> None:
    graphs, labels = shapes()
    with pytest.raises(InputError, match=sentence):
        GraphClassifier(**FEW, listeners=wrong).fit(graphs, labels)


def test_progress_is_a_bar_in_a_notebook_and_a_log_elsewhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bars: list[Any] = []

    class Bar(EpochProgress):
        live = True

        def move_bar(self, done: float, state: str) -> None:
            bars.append(state)

    monkeypatch.setattr(hearing, "NotebookBar", Bar)
    graphs, labels = shapes()
    with caplog.at_level(logging.INFO, "gsina"):
        GraphClassifier(**FEW, verbose=True).fit(graphs, labels)
        assert "epoch 2: training loss" in caplog.text
        assert bars == []
        caplog.clear()
        monkeypatch.setattr(hearing, "in_notebook", lambda: True)
        GraphClassifier(**FEW, verbose=True).fit(graphs, labels)
    assert caplog.text == ""
    assert any(bar.startswith("2/2  loss") for bar in bars)
    assert bars[-1] == "1 of 1"  # trees
