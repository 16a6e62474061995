"""What the shell offers after Tab: names of datasets, methods and runs; nothing needs torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from gsina.metrics import selecting_metrics

#: Copies of `gsina.nn.backbones.BACKBONES` and of the kinds of devices, which need torch.
BACKBONES = ("gat", "gcn", "gin", "gprgnn", "ogb-gcn", "ogb-gin", "pna", "sage", "spmotifnet")
DEVICES = ("auto", "cpu", "cuda", "mps", "xpu")
#: Any of these in a folder makes it one of a run, or of a model.
RUN_FILES = ("run.json", "result.json", "model.json")


def one_of(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Offers those of the names that begin as the user has."""

    def complete(incomplete: str) -> list[str]:
        return sorted(name for name in names() if name.startswith(incomplete))

    return complete


def _datasets() -> Iterable[str]:
    from gsina.datasets.catalog import DATASETS

    return DATASETS


def _methods() -> Iterable[str]:
    from gsina.methods.catalog import METHODS

    return METHODS


def _trackers() -> Iterable[str]:
    from gsina.listeners.trackers import TRACKERS

    return TRACKERS


complete_dataset = one_of(_datasets)
complete_method = one_of(_methods)
complete_tracker = one_of(_trackers)
complete_backbone = one_of(lambda: BACKBONES)
complete_device = one_of(lambda: DEVICES)
complete_metric = one_of(lambda: {*selecting_metrics("binary"), *selecting_metrics("regression")})


def complete_data(incomplete: str) -> list[str]:
    """Named datasets, and files that can be trained on."""
    from gsina.formats import FORMATS

    known = tuple(suffix for one in FORMATS.values() for suffix in one.suffixes)
    files = (path for path in _paths(incomplete) if path.endswith(("/", *known)))
    return [*complete_dataset(incomplete), *files]


def complete_recipe(incomplete: str) -> list[str]:
    """The two recipes with a name, and files."""
    named = [name for name in ("published", "recommended") if name.startswith(incomplete)]
    return [*named, *(path for path in _paths(incomplete) if path.endswith(("/", ".toml")))]


def complete_runs(incomplete: str) -> list[str]:
    """Folders of runs and models, and folders that may hold some."""
    return [
        path.rstrip("/") if _is_run(Path(path)) else path
        for path in _paths(incomplete)
        if path.endswith("/")
    ]


def complete_folder(incomplete: str) -> list[str]:
    """Any folder."""
    return [path for path in _paths(incomplete) if path.endswith("/")]


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in RUN_FILES)


def _paths(incomplete: str) -> Iterator[str]:
    """Files and folders that begin as the user has; folders end with a slash."""
    parent, _, start = incomplete.rpartition("/")
    before = f"{parent}/" if "/" in incomplete else ""
    try:
        found = sorted(os.scandir(os.path.expanduser(before) or "."), key=lambda one: one.name)
    except OSError:
        return
    for entry in found:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if entry.name.startswith(start) and not hidden:
            yield f"{before}{entry.name}{'/' if entry.is_dir() else ''}"
