"""MLflow: the server of ``MLFLOW_TRACKING_URI``, or its files in the working folder."""

from __future__ import annotations

import os
import time
from typing import Any

from gsina.listeners.base import Beginning
from gsina.listeners.trackers.tracker import PROJECT, run_name

#: The most settings that MLflow takes at once, and letters of one.
AT_ONCE, LETTERS = 100, 500
STATES = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}


class MLflow:
    """Uses a client of its own, so that a run which the user has opened is left alone.

    Runs are filed under ``MLFLOW_EXPERIMENT_NAME``, or ``gsina``.
    """

    def begin(self, run: Beginning, key: str | None) -> str:
        """Open a run with the settings as its parameters."""
        from mlflow import MlflowClient

        self._client: Any = MlflowClient()
        if key is not None:
            self._client.update_run(key, status="RUNNING")
            self._run = key
            return key
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        known = self._client.get_experiment_by_name(name)
        place = self._client.create_experiment(name) if known is None else known.experiment_id
        opened = self._client.create_run(place, run_name=run_name(run))
        self._run = str(opened.info.run_id)
        self._settings(run.settings)
        return self._run

    def _settings(self, settings: dict[str, Any]) -> None:
        from mlflow.entities import Param

        found = [Param(name, str(value)[:LETTERS]) for name, value in settings.items()]
        for start in range(0, len(found), AT_ONCE):
            self._client.log_batch(self._run, params=found[start : start + AT_ONCE])

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        """One point per curve."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        found = [Metric(name, value, now, epoch) for name, value in numbers.items()]
        self._client.log_batch(self._run, metrics=found)

    def end(self, scores: dict[str, float], state: str) -> None:
        """The last scores, and how the run ended."""
        self.log(scores, 0)
        self._client.set_terminated(self._run, STATES[state])
