"""Weights & Biases: its service, or files in ``wandb/`` where nobody is logged in."""

from __future__ import annotations

import netrc
import os
import warnings
from typing import Any
from urllib.parse import urlparse

from gsina.errors import Note
from gsina.listeners.base import Beginning
from gsina.listeners.trackers.tracker import PROJECT, run_name

#: What W&B would send by itself and has no business to: code, console, command line, machine, git.
QUIET = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "save_code": False,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}


class WeightsAndBiases:
    """Sends settings and numbers only, and how busy the machine is: no code, no data.

    ``WANDB_MODE``, ``WANDB_PROJECT`` and the other variables of W&B hold as always.
    """

    def begin(self, run: Beginning, key: str | None) -> str:
        """Open a run; without a login it is kept on this machine, and nobody is asked for one."""
        import wandb

        mode = os.environ.get("WANDB_MODE")
        if mode is None and not _logged_in():
            mode = "offline"
            text = (
                "nobody is logged in to Weights & Biases, so the run is kept in the folder wandb; "
                "send it later with: wandb sync --sync-all"
            )
            warnings.warn(Note(text), stacklevel=2)
        known = wandb.Settings.model_fields  # not every version has all of them
        quiet = wandb.Settings(**{name: QUIET[name] for name in QUIET if name in known})
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            name=run_name(run),
            config=run.settings,
            id=key,
            resume="allow",
            mode=mode,
            settings=quiet,
        )
        # The trainings of a run each count their epochs from 1, and W&B's own steps only go up.
        self._run.define_metric("*", step_metric="epoch")
        return str(self._run.id)

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        """One point per curve."""
        self._run.log({**numbers, "epoch": epoch})

    def end(self, scores: dict[str, float], state: str) -> None:
        """The last scores, and whether the run is whole."""
        self._run.summary.update(scores)
        self._run.finish(exit_code=0 if state == "finished" else 1)


def _logged_in() -> bool:
    """Whether W&B would find a key, without asking for one."""
    if any(os.environ.get(name) for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
