"""A progress bar in a notebook, made of plain HTML: it needs no widgets and stays when saved."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

from gsina.listeners.progress import EpochProgress

#: Seconds between two pictures of the bar, as every one is a message to the browser.
PAUSE = 0.2


def in_notebook() -> bool:
    """Whether this is a notebook: Jupyter, Colab, VS Code."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookBar(EpochProgress):
    """Shows the epochs of a run below a cell, one bar per training."""

    def open_bar(self, label: str, total: int, done: int) -> None:
        """Show a new bar."""
        from IPython.display import display

        self._title, self._total, self._shown = label, total, 0.0
        self._output: Any = display(_html(self._html(done, "")), display_id=True)
        self.live = True

    def move_bar(self, done: float, state: str) -> None:
        """Change the bar, if it has not just been changed."""
        self._last = self._html(done, state)
        if time.monotonic() - self._shown >= PAUSE:
            self._output.update(_html(self._last))
            self._shown = time.monotonic()

    def close_bar(self) -> None:
        """Leave the last state in the notebook."""
        if last := getattr(self, "_last", None):
            self._output.update(_html(last))
        self.live = False

    def say(self, sentence: str) -> None:
        """Show a sentence below the bars."""
        from IPython.display import display

        display(_html(f"<div>{escape(sentence)}</div>"))

    def _html(self, done: float, state: str) -> str:
        return (
            '<div style="font:13px/1.6 system-ui,sans-serif;white-space:pre">'
            f"<b>{escape(self._title)}</b> "
            f'<progress value="{done:g}" max="{self._total}" style="vertical-align:middle">'
            f"</progress> {escape(state)}</div>"
        )


def _html(text: str) -> Any:
    from IPython.display import HTML

    return HTML(text)
