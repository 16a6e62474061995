"""Running the command inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gsina.cli import app

Invoke = Callable[..., Result]


@pytest.fixture
def gsina(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Call ``gsina("train", ...)`` in an empty folder; a bug in the program raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GSINA_DEBUG", raising=False)

    def invoke(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke
