"""The reference: every public name with its docstring, and every command with its help.

Public is what a part of the package has in ``__all__``, and the further names of `ROOMS`. A public
name without a place in the reference, or without a docstring, is an error.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from docs.site.pages import MADE, ROOT

SOURCE = ROOT / "src" / "gsina"


class Room(NamedTuple):
    """A page of the reference.

    Attributes:
        page: Name of the page.
        title: Its title.
        about: What it is for, in a sentence.
        modules: Modules all of whose ``__all__`` is on it.
        names: Further names, in full.
    """

    page: str
    title: str
    about: str
    modules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names.split())


ROOMS = (
    Room(
        "main",
        "gsina",
        "What most people need: `from gsina import ...`.",
        ("gsina", "gsina.estimators"),
    ),
    Room("ops", "Operators", "Pure functions of tensors.", ("gsina.ops",)),
    Room(
        "nn",
        "Networks",
        "Attention, weighted messages, readout, and the networks of the benchmarks.",
        ("gsina.nn", "gsina.nn.backbones"),
    ),
    Room(
        "methods",
        "Methods",
        "What every method is made of, and how to add one.",
        ("gsina.methods",),
        ("gsina.methods.registry.register",),
    ),
    Room(
        "graphs",
        "Graphs and tasks",
        "What a set of graphs is, and what is predicted.",
        (),
        (
            "gsina.graphs.packed.PackedGraphs",
            "gsina.graphs.batch.Batch",
            "gsina.graphs.task.Task",
            *_of("gsina.graphs.dataset", "Dataset Origin"),
        ),
    ),
    Room(
        "datasets",
        "Datasets",
        "The named datasets.",
        ("gsina.datasets",),
        ("gsina.datasets.spmotif.generate",),
    ),
    Room(
        "formats",
        "Files",
        "Readers of your own files.",
        ("gsina.formats",),
        _of(
            "gsina.formats",
            "read_molecules read_graphs read_nodes read_data_file read_tu_graphs from_pyg "
            "stream_molecules stream_graphs",
        ),
    ),
    Room(
        "training",
        "Training",
        "The loop, the rules that select an epoch, and listeners.",
        ("gsina.training",),
        (*_of("gsina.training.selection", "Score LatestBest StrictBest FirstBest"),),
    ),
    Room(
        "listeners",
        "Listeners",
        "Who is told how a training goes: bars, logs, trackers, your own.",
        ("gsina.listeners",),
    ),
    Room(
        "models",
        "Trained models",
        "What a folder of a model holds, and what it can do.",
        (),
        (
            "gsina.models.model.Model",
            "gsina.models.uncertainty.coverage.measure_coverage",
            "gsina.models.hub.push_model",
        ),
    ),
    Room(
        "explain",
        "Explanations",
        "Explanations, how far to believe them, and the page that shows them.",
        (
            "gsina.explain",
            "gsina.explain.page",
            "gsina.explain.pictures",
            "gsina.explainers.registry",
        ),
    ),
    Room(
        "runs",
        "Runs and recipes",
        "A recipe and a seed in, a trained model and its scores out.",
        (),
        (
            *_of("gsina.runs.recipe", "Recipe MethodPart BackbonePart OptimiserPart"),
            *_of("gsina.runs.recipe", "SelectionPart RunPart"),
            *_of("gsina.runs.data", "NamedData FileData"),
            *_of("gsina.runs.run", "run Run"),
            "gsina.runs.published.default_recipe",
            "gsina.runs.trained.load_run",
        ),
    ),
    Room(
        "tuning",
        "Search",
        "Search for settings on validation data.",
        (),
        _of("gsina.tuning.study", "Search run_trials summary SearchResult TrialResult"),
    ),
    Room(
        "metrics",
        "Metrics",
        "One table of all metrics.",
        (),
        _of("gsina.metrics", "METRICS Metric metric_label metric_text selecting_metrics"),
    ),
    Room(
        "errors",
        "Errors",
        "What a user can mend, in one sentence.",
        (),
        _of("gsina.errors", "InputError MissingFileError MissingPackageError DownloadError Note"),
    ),
)
#: The command line has a page of its own.
COMMANDS = "command-line"
UNDOCUMENTED = ("gsina.cli",)


def made_pages() -> set[str]:
    """Names of the pages that are made when the site is built."""
    names = ["index", COMMANDS, *(room.page for room in ROOMS)]
    return {f"{MADE}/{name}.md" for name in names}


@cache
def public() -> dict[str, dict[str, Any]]:
    """What is documented on each page: full names and objects; each object on one page only."""
    pages: dict[str, dict[str, Any]] = {}
    seen: set[int] = set()
    for room in ROOMS:
        names = [f"{module}.{name}" for module in room.modules for name in _all(module)]
        found = {}
        for name in [*names, *room.names]:
            value = resolve(name)
            if id(value) not in seen and not name.endswith(".__version__"):
                seen.add(id(value))
                found[name] = value
        pages[room.page] = found
    return pages


def resolve(name: str) -> Any:
    """The object that a full name means."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def problems() -> Iterator[str]:
    """Public names without a place, and public names and methods without a docstring."""
    documented = {id(value) for page in public().values() for value in page.values()}
    for module in _modules_with_all():
        for name in _all(module):
            value = resolve(f"{module}.{name}")
            if module not in UNDOCUMENTED and name != "__version__" and id(value) not in documented:
                yield f"{module}.{name} is public, but in no page of the reference (docs.site)"
    for page in public().values():
        for name, value in page.items():
            for part, one in _parts(name, value):
                if not (inspect.getdoc(one) or "").strip():
                    yield f"{part} has no docstring"
            if not callable(value) and not comment_of(name):
                yield f"{name} has no comment '#: ...' where it is assigned"


def write_reference(folder: Path) -> None:
    """Write the pages of the reference."""
    from docs.site.command_line import commands_page

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(_index(), encoding="utf-8")
    (folder / f"{COMMANDS}.md").write_text(commands_page(), encoding="utf-8")
    for room in ROOMS:
        (folder / f"{room.page}.md").write_text(_page(room), encoding="utf-8")


def _index() -> str:
    pages = [
        ("[The command line]", COMMANDS, "every command with its options, from its own help"),
        *((f"[{room.title}]", room.page, _named(room)) for room in ROOMS),
    ]
    rows = [f"| {title}({page}.md) | {about} |" for title, page, about in pages]
    tree = ["```{toctree}", ":hidden:", "", *(page for _, page, _ in pages), "```", ""]
    head = ["# Reference", "", "Every public name, from its docstring.", "", "| page | names |"]
    return "\n".join([*head, "|---|---|", *rows, "", *tree])


def _named(room: Room) -> str:
    return ", ".join(f"{{py:obj}}`~{name}`" for name in public()[room.page])


def _page(room: Room) -> str:
    lines = [f"# {room.title}", "", room.about, ""]
    here = public()[room.page]
    for module in room.modules:
        homes = {name: _home(module, name) for name in _all(module) if name != "__version__"}
        elsewhere = [
            f"{{py:obj}}`{name} <{home}>`" for name, home in homes.items() if home not in here
        ]
        if elsewhere:
            lines += [f"`{module}` also has {', '.join(elsewhere)}.", ""]
    for name, value in here.items():
        lines += ["```{eval-rst}", *_directive(name, value), "```", ""]
    return "\n".join(lines)


def _home(module: str, name: str) -> str:
    value = resolve(f"{module}.{name}")
    return next(full for page in public().values() for full, one in page.items() if one is value)


def _directive(name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        # What a class has from ours is shown, what it has from torch or scikit-learn is theirs.
        foreign = [one.__name__ for one in value.__mro__ if not one.__module__.startswith("gsina")]
        return [
            f".. {kind}:: {name}",
            "   :members:",
            f"   :inherited-members: {','.join(foreign)}",
        ]
    if inspect.isroutine(value):
        return [f".. autofunction:: {name}"]
    keys = ", ".join(f"``{key}``" for key in value) if isinstance(value, dict) else repr(value)
    return [f".. py:data:: {name}", "", f"   {comment_of(name)} It holds: {keys}."]


def comment_of(name: str) -> str:
    """The comment ``#: ...`` above a constant, where it is assigned; empty without one."""
    part, last = name.split(".")[1], name.rpartition(".")[2]
    place = SOURCE / part
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    pattern = re.compile(rf"((?:^#: ?.*\n)+)^{last}(?:: .*)? = ", re.MULTILINE)
    found = [match for path in paths if (match := pattern.search(path.read_text("utf-8")))]
    return " ".join(found[0][1].replace("#:", "").split()) if found else ""


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A name, and of a class its public methods and properties."""
    if inspect.isclass(value):
        yield name, value
        for key, one in vars(value).items():
            described = inspect.isroutine(one) or isinstance(one, property)
            if key[0] != "_" and described and key not in inspect.get_annotations(value):
                yield f"{name}.{key}", one
    elif inspect.isroutine(value):
        yield name, value


def _all(module: str) -> list[str]:
    return sorted(import_module(module).__all__, key=str.lower)


def _modules_with_all() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                parts = path.relative_to(SOURCE.parent).with_suffix("").parts
                yield ".".join(parts).removesuffix(".__init__")
