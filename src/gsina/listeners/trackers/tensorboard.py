"""TensorBoard: event files in the folder of the run."""

from __future__ import annotations

from typing import Any

from gsina.listeners.base import Beginning

#: The folder inside that of a run.
FOLDER = "tensorboard"


class TensorBoard:
    """Writes event files to ``RUN/tensorboard``; without a folder, as PyTorch does, to ``runs/``.

    ``tensorboard --logdir`` finds all runs below a folder.
    """

    def begin(self, run: Beginning, key: str | None) -> None:
        """Open the files; those of an earlier session stay beside them."""
        from torch.utils.tensorboard import SummaryWriter

        place = None if run.folder is None else str(run.folder / FOLDER)
        self._writer: Any = SummaryWriter(place)
        self._epoch = 0
        rows = "\n".join(f"| {name} | {value} |" for name, value in run.settings.items())
        self._writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}")

    def log(self, numbers: dict[str, float], epoch: int) -> None:
        """One point per curve, on disk at once."""
        self._epoch = max(epoch, self._epoch)
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, epoch)
        self._writer.flush()

    def end(self, scores: dict[str, float], state: str) -> None:
        """The last scores, at the last epoch."""
        for name, value in scores.items():
            self._writer.add_scalar(name, value, self._epoch)
        self._writer.close()
