"""``gsina doctor``: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import typer
from rich.table import Table
from rich.text import Text

from gsina.cli import show
from gsina.cli.options import AsJson
from gsina.errors import is_installed, readable, reason_of
from gsina.files import cache_dir, data_dir, to_json
from gsina.listeners.trackers import TRACKERS

#: Packages that everything needs: how they are imported, by how they are installed.
NEEDED = {
    "torch": "torch",
    "torch-geometric": "torch_geometric",
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "sklearn",
    "threadpoolctl": "threadpoolctl",
    "safetensors": "safetensors",
    "pydantic": "pydantic",
    "typer": "typer",
    "rich": "rich",
    "matplotlib": "matplotlib",
}
#: Of the extras, the package that is looked for and what it is for.
EXTRAS = {
    "mol": ("rdkit", "rdkit", "molecules from SMILES and SDF"),
    "images": ("scikit-image", "skimage", "superpixel graphs of images"),
    "tune": ("optuna", "optuna", "gsina tune"),
    "cluster": ("ray", "ray", "searches and tables on several machines"),
    "parquet": ("pyarrow", "pyarrow", "tables in .parquet"),
    **{name: (name, name, f"--track {name}") for name in TRACKERS},
    "hub": ("huggingface-hub", "huggingface_hub", "gsina push, and models hf://user/name"),
}
SIGNS = {"ok": ("ok", "green"), "missing": ("missing", "yellow"), "broken": ("broken", "bold red")}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        part: What it belongs to.
        name: What it is.
        state: ``missing`` is what one may want, ``broken`` what everything needs.
        said: What was found.
        remedy: What to do about it.
    """

    part: str
    name: str
    state: Literal["ok", "missing", "broken"]
    said: str
    remedy: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Say what is installed, what is missing, and how to get it.

    Looks at versions, devices, the compiled kernel, the folders of data, and optional
    packages, and computes one thing whose answer is known. The exit code is 1 if
    something that everything needs is broken, else 0.

    \b
    [bold]Examples[/]
    gsina doctor
    gsina doctor --json
    """
    found = [*_packages(), *_computing(), *_folders(), *_extras()]
    broken = [one for one in found if one.state == "broken"]
    if as_json:
        show.console.print_json(to_json([asdict(one) for one in found]))
    else:
        show.console.print(_table(found))
        for one in found:
            if one.remedy:
                show.say(f"{one.name}: {one.remedy}")
        words = f"{len(broken)} broken" if broken else "all that is needed is here"
        show.say(f"{words}; {sum(one.state == 'missing' for one in found)} optional parts missing.")
    if broken:
        raise typer.Exit(show.NOTHING)


def _packages() -> Iterator[Finding]:
    from gsina import __version__

    yield Finding("versions", "gsina", "ok", __version__)
    yield Finding("versions", "python", "ok", f"{platform.python_version()} ({sys.executable})")
    for name, module in NEEDED.items():
        try:
            importlib.import_module(module)
            yield Finding("versions", name, "ok", _version(name))
        except Exception as error:  # what an installation that is half there raises is anything
            remedy = f'pip install --force-reinstall "{name}"'
            yield Finding("versions", name, "broken", reason_of(error), remedy)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _computing() -> Iterator[Finding]:
    try:
        yield from _devices()
        yield _kernel()
        yield _right()
    except Exception as error:  # torch is broken, in whichever way
        yield Finding("computing", "torch", "broken", reason_of(error), "mend torch first")


def _devices() -> Iterator[Finding]:
    import torch

    from gsina.training.devices import available_devices, device_name

    for name in available_devices():
        if name == "cpu":
            said = f"{os.cpu_count()} cores; torch would use {torch.get_num_threads()} threads"
        else:
            said = device_name(torch.device(name)) or "there"
        yield Finding("computing", name, "ok", said)


def _kernel() -> Finding:
    from gsina.ops.compiled import kernels

    if kernels() is not None:
        return Finding("computing", "kernel", "ok", "compiled")
    said = "not compiled: torch computes the same, more slowly"
    remedy = "install gsina again, with a C compiler such as gcc on the machine"
    return Finding("computing", "kernel", "missing", said, remedy)


def _right() -> Finding:
    """Whether the weights of a few scores have the mean that was asked for."""
    import torch

    from gsina.ops import soft_top_r

    mean = float(soft_top_r(torch.linspace(-3, 3, 101), 0.3).mean())
    if abs(mean - 0.3) < 1e-5:
        return Finding("computing", "soft top-r", "ok", "right on a known case")
    remedy = "install torch and gsina again, and report it if that does not help"
    return Finding("computing", "soft top-r", "broken", f"mean {mean:.6f}, expected 0.3", remedy)


def _folders() -> Iterator[Finding]:
    for name, folder, what in (
        ("GSINA_DATA", data_dir(), "raw files"),
        ("GSINA_CACHE", cache_dir(), "prepared data"),
    ):
        yield _folder(name, folder, what)
    try:
        from gsina.datasets.catalog import DATASETS

        here = sum(one.at_hand() for one in DATASETS.values())
        said = f"{here} of {len(DATASETS)} are here; gsina datasets says which"
        yield Finding("folders", "named datasets", "ok", said)
    except Exception as error:
        yield Finding("folders", "named datasets", "broken", reason_of(error))


def _folder(name: str, folder: Path, what: str) -> Finding:
    place = f"{what}: {readable(str(folder))}"
    if not folder.exists():
        return Finding("folders", name, "ok", f"{place} (made when it is needed)")
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.X_OK):
        remedy = f"set {name} to a folder that can be read"
        return Finding("folders", name, "broken", f"{place} is no readable folder", remedy)
    if not os.access(folder, os.W_OK):
        return Finding("folders", name, "ok", f"{place} (read-only: nothing is kept there)")
    return Finding("folders", name, "ok", place)


def _extras() -> Iterator[Finding]:
    for extra, (package, module, purpose) in EXTRAS.items():
        if is_installed(module):
            yield Finding("optional", package, "ok", f"{_version(package)}, for {purpose}")
        else:
            remedy = f'pip install "gsina[{extra}]"'
            yield Finding("optional", package, "missing", f"for {purpose}", remedy)


def _table(found: list[Finding]) -> Table:
    table = Table("", "", "", "", box=show.BOX, show_header=False)
    before = ""
    for one in found:
        word, style = SIGNS[one.state]
        part = "" if one.part == before else one.part
        table.add_row(Text(part, "bold"), Text(one.name), Text(word, style), Text(one.said))
        before = one.part
    return table
