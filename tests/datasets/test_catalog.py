"""The table of datasets says what the loaders are and need, though it does not import them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gsina.datasets import DATASETS, degree_shift, drugood, load_dataset, ogbg, size_shift
from gsina.errors import MissingFileError
from gsina.graphs.task import LEVELS
from gsina.metrics import METRICS

FILES: dict[str, tuple[str, ...]] = {
    name: entry.at_hand.args  # type: ignore[attr-defined]
    for name, entry in DATASETS.items()
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_OFFLINE", "1")
    monkeypatch.setenv("GSINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize("name", DATASETS)
def test_entries(name: str) -> None:
    entry = DATASETS[name]
    assert entry.name == name
    assert entry.level in LEVELS
    assert entry.metric in METRICS
    assert callable(entry.load)
    assert entry.load is entry.load  # signatures are kept by loader


def test_sizes_are_those_that_the_loaders_expect() -> None:
    sizes = {name: f"{source.rows[-1]:,} molecules" for name, source in ogbg.SOURCES.items()}
    sizes |= {name: f"{sum(one.sizes):,} sentences" for name, one in degree_shift.SOURCES.items()}
    for (measure, domain), counts in drugood.SIZES.items():
        sizes[f"drugood-{measure}-{domain}"] = f"{sum(counts):,} molecules"
    for name, archive in size_shift.SOURCES.items():
        sizes[name] = f"{archive.graphs:,} graphs, about 60 % used"
    assert {name: DATASETS[name].size for name in sizes} == sizes


def test_what_is_made_here_needs_no_files(folder: Path) -> None:
    made = [name for name, entry in DATASETS.items() if entry.at_hand()]
    assert made == ["spmotif", "spmotif-struc", "spmotif-mixed", "good-motif", "good-cbas"]


@pytest.mark.parametrize("name", [name for name, files in FILES.items() if files])
@pytest.mark.parametrize("form", [0, -1])
def test_the_files_are_those_of_the_loader(folder: Path, name: str, form: int) -> None:
    """Without them the loader misses a file; with them, all empty, it dislikes what they hold."""
    entry = DATASETS[name]
    with pytest.raises(FileNotFoundError):
        entry.load()
    for path in dict.fromkeys(folder / file.split("|")[form] for file in FILES[name]):
        assert not entry.at_hand()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert entry.at_hand()
    with pytest.raises(ValueError, match=r".") as caught:
        entry.load()
    assert not isinstance(caught.value, MissingFileError)


@pytest.mark.parametrize("name", ["spmotif", "spmotif-struc", "spmotif-mixed"])
def test_classes_have_their_natural_names(folder: Path, name: str) -> None:
    assert load_dataset(name, num_per_class=2).class_names == ("cycle", "house", "crane")
    assert load_dataset(name, num_per_class=2).class_names  # also from the cache


@pytest.mark.data
@pytest.mark.parametrize("name", [n for n, e in DATASETS.items() if e.classes and FILES[n]])
def test_there_are_as_many_names_as_classes(name: str) -> None:
    if not DATASETS[name].at_hand():
        pytest.skip("its files are not here")
    dataset = load_dataset(name)
    outputs = dataset.task.outputs
    assert len(dataset.class_names) == (outputs if dataset.task.kind == "multiclass" else 2)
