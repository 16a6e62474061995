"""``gsina doctor``: what is there, and an exit code that scripts can use."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import Invoke
from gsina import __version__
from gsina.cli.lists import doctor

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def findings(gsina: Invoke, exit_code: int = 0) -> dict[str, dict[str, str]]:
    done = gsina("doctor", "--json")
    assert done.exit_code == exit_code, done.output
    return {row["name"]: row for row in json.loads(done.output)}


def test_here_nothing_that_is_needed_is_broken(gsina: Invoke) -> None:
    found = findings(gsina)
    assert found["gsina"]["said"] == __version__
    assert found["cpu"]["state"] == found["soft top-r"]["state"] == "ok"
    assert {row["part"] for row in found.values()} == {
        "versions",
        "computing",
        "folders",
        "optional",
    }
    done = gsina("doctor")
    assert done.exit_code == 0
    assert "all that is needed is here" in done.output


def test_what_is_missing_comes_with_its_extra(
    gsina: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "is_installed", lambda module: False)
    monkeypatch.setattr("gsina.ops.compiled.kernels", lambda: None)
    found = findings(gsina)
    assert found["kernel"]["state"] == "missing"
    assert found["optuna"]["remedy"] == 'pip install "gsina[tune]"'
    assert "rdkit: pip install" in gsina("doctor").output


def test_a_broken_package_is_an_exit_code(gsina: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    found = findings(gsina, exit_code=1)
    assert found["safetensors"]["state"] == "broken"
    assert "--force-reinstall" in found["safetensors"]["remedy"]
    assert "1 broken" in gsina("doctor").output


def test_wrong_arithmetic_is_noticed(gsina: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsina.ops.soft_top_r", lambda scores, ratio: scores * 0)
    assert findings(gsina, exit_code=1)["soft top-r"]["said"] == "mean 0.000000, expected 0.3"


def test_folders(gsina: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "not yet"))
    assert "made when it is needed" in findings(gsina)["GSINA_DATA"]["said"]
    (tmp_path / "file").touch()
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "file"))
    assert findings(gsina, exit_code=1)["GSINA_CACHE"]["state"] == "broken"


def test_all_packages_of_the_project_are_looked_at() -> None:
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    needed = {name.split(">")[0] for name in project["dependencies"]}
    assert needed == set(doctor.NEEDED)
    extras = {
        extra: packages[0].split(">")[0]
        for extra, packages in project["optional-dependencies"].items()
        if extra in doctor.EXTRAS
    }
    assert extras == {extra: package for extra, (package, _, _) in doctor.EXTRAS.items()}
