"""The package as people install it: sources, wheel, fresh environment; and the workflow files."""

from __future__ import annotations

import ast
import csv
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gsina

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests" / "kept" / "v0.1"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSIONS = ("3.11", "3.12", "3.13")


def run(*command: str | Path, cwd: Path, **extra: str) -> str:
    """Run a command without this repository on its path; returns what it prints."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | {"OMP_NUM_THREADS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"} | extra,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel(source: Path, folder: Path, **extra: str) -> Path:
    """Build a wheel from a folder of sources, with the build tools of this environment."""
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    copy = shutil.copytree(source, folder / "source")  # what is built stays there
    run(*pip, "--wheel-dir", folder, copy, cwd=folder, **extra)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked archive of sources."""
    if find_spec("build") is None or find_spec("setuptools") is None:
        pytest.skip("the build tools of the extra dev are not installed")
    folder = tmp_path_factory.mktemp("sdist")
    copy = folder / "repository"  # so that nothing is written into ours
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info"))
    build = (sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder)
    run(*build, copy, cwd=folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def fresh(folder: Path, built: Path) -> Path:
    """A new environment with the wheel and the dependencies of this one; returns its bin."""
    venv.create(folder, with_pip=False, symlinks=True)
    place = folder / "bin" / "python"
    purelib = Path(
        run(
            place, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
        ).strip()
    )
    # Of the folders named here only packages count, not their .pth files: no editable install.
    others = {
        sysconfig.get_path("purelib"),
        *(path for path in sys.path if "site-packages" in path),
    }
    (purelib / "dependencies.pth").write_text("\n".join(sorted(others)) + "\n")
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        place,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        built,
        cwd=folder,
    )
    return folder / "bin"


def predicts(bin_: Path, folder: Path) -> None:
    """The command and Python predict with a kept model what they always did."""
    shutil.copytree(KEPT, folder / "kept")
    run(
        bin_ / "gsina",
        "predict",
        "molecules",
        "molecules.csv",
        "-o",
        "out.csv",
        cwd=folder / "kept",
    )
    with (
        (folder / "kept/out.csv").open() as ours,
        (folder / "kept/molecules-expected.csv").open() as theirs,
    ):
        for one, other in zip(csv.DictReader(ours), csv.DictReader(theirs), strict=True):
            assert one["smiles"] == other["smiles"]
            assert one["prediction"] == other["prediction"]
    code = "import gsina; gsina.load_model('molecules').predict(['CCO']); print(gsina.__file__)"
    assert str(bin_.parent) in run(bin_ / "python", "-c", code, cwd=folder / "kept")


@pytest.mark.slow
def test_a_wheel_works_in_a_fresh_environment(sources: Path, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    made = wheel(sources, tmp_path)
    names = zipfile.ZipFile(made).namelist()
    for part in ("runs/recipes/recommended.toml", "explain/page/page.js", "py.typed"):
        assert f"gsina/{part}" in names
    assert not [name for name in names if name.startswith(("tests", "docs", "benchmarks"))]
    bin_ = fresh(tmp_path / "fresh", made)
    assert run(bin_ / "gsina", "--version", cwd=tmp_path) == f"gsina {gsina.__version__}\n"
    assert "--quick only shows that everything runs" in run(
        bin_ / "gsina", "demo", "--quick", cwd=tmp_path
    )
    assert (tmp_path / "demo" / "subgraphs.png").exists()
    predicts(bin_, tmp_path)


@pytest.mark.slow
def test_a_wheel_is_built_without_a_compiler(sources: Path, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    made = wheel(sources, tmp_path, CC="no-such-compiler", PATH=str(tmp_path))
    assert not [name for name in zipfile.ZipFile(made).namelist() if "_kernels" in name]
    bin_ = fresh(tmp_path / "fresh", made)
    code = "from gsina.ops.compiled import kernels; assert kernels() is None"
    run(bin_ / "python", "-c", code, cwd=tmp_path)
    predicts(bin_, tmp_path)


def test_the_version_is_said_once() -> None:
    assert PROJECT["project"]["version"] == gsina.__version__
    said = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {gsina.__version__}\n" in said
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(gsina.__version__)}\] - ", changes, re.MULTILINE)


def test_the_changelog_keeps_to_its_form() -> None:
    """Keep a Changelog: sections of these names only, the newest version first."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(kinds) <= allowed
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert versions == sorted(versions, reverse=True)
    assert len(versions) >= 2


def test_every_named_version_of_python_can_read_the_source() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    for version in VERSIONS:
        assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]
        minor = version.removeprefix("3.")
        assert f"cp3{minor}-*" in PROJECT["tool"]["cibuildwheel"]["build"]
    for path in (ROOT / "src").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 11))


def test_there_are_workflows_for_tests_docs_and_release() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "tests"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_valid(path: Path) -> None:
    """By the schema of GitHub, and by what a schema cannot know."""
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    jobs = content["jobs"]
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= jobs.keys()
        axes = job.get("strategy", {}).get("matrix", {})
        assert set(re.findall(r"matrix\.(\w+)", str(job))) == set(axes)
        assert axes.get("python", list(VERSIONS)) == list(VERSIONS)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.search(r"@(v\d|release/v\d)", step.get("uses", "@v1"))
            assert set(re.findall(r"\bmake (\w+)", step.get("run", ""))) <= targets
    pytest.importorskip("check_jsonschema")
    check = (sys.executable, "-m", "check_jsonschema", "--builtin-schema")
    run(*check, "vendor.github-workflows", path, cwd=ROOT)
