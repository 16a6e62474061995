"""The blueprint's rules of the source, read off its syntax trees."""

from __future__ import annotations

import ast
import runpy
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
HOUSE = runpy.run_path(str(ROOT / "docs" / "house.py"), run_name="house")
SOURCE: Path = HOUSE["SOURCE"]
FILES = sorted(SOURCE.rglob("*.py"))
FOLDERS = [SOURCE, *sorted({path.parent for path in FILES} - {SOURCE})]
#: What each part of the package may import of the package; arrows point one way.
ALLOWED: dict[str, set[str]] = {part: HOUSE["reach"](part) for part in HOUSE["BELOW"]}
#: The only commands that know the reproduction of the paper.
PAPER_COMMANDS = ("bench", "report", "figure", "demo")
#: Who may write files; others go through the atomic helpers of `gsina.files`.
WRITERS = ("files.py", "datasets/", "formats/", "training/", "models/", "explain/", "runs/run.py")
LONGEST = 400
#: As many files as a reader takes in at a glance.
MOST_FILES = 22
#: Modules of more lines than this are tested by name.
UNTESTED = 60

#: Beginnings of test files that go across their folder, and what they are about.
ACROSS = {
    "attack/campaign": "attempts to break the whole package",
    "attack/sandbox": "what makes these attempts",
    "cli/kept_weights": "short runs of every kind of data give the weights that they always gave",
    "cli/one_path": "every command takes every run folder",
    "estimators/battery": "the same checks for every estimator",
    "methods/battery": "the same checks for every method",
    "runs/kept": "folders and names of results of earlier versions",
    "architecture": "the rules of this file",
    "benchmarks": "the folder benchmarks/",
    "devices": "nothing in the hot paths leaves its device",
    "docs": "the folder docs/",
    "examples": "the folder examples/",
    "package": "what is installed from a wheel, and the workflows that make one",
}
#: Test files, and modules that they test through what uses these.
THROUGH = {
    "cli/test_app_quick.py": "cli/lists/datasets cli/lists/methods",
    "cli/test_bench.py": "cli/report cli/grids/running",
    "cli/test_figure.py": "paper/figures/separability",
    "cli/test_progress.py": "listeners/progress",
    "cli/test_train.py": "cli/one_run",
    "cli/test_train_files.py": "cli/explain cli/predict cli/recipes",
    "cli/test_train_files_nodes.py": "formats/arguments formats/base",
    "cli/test_tune.py": "cli/trials",
    "datasets/test_drugood.py": "molecules/drugood",
    "estimators/test_graph.py": "estimators/base estimators/classes estimators/inputs "
    "estimators/networks",
    "explain/page/carry/test_carry.py": "explain/page/carry/affine explain/page/carry/backbones "
    "explain/page/carry/features explain/page/carry/methods",
    "explain/evidence/test_measure.py": "explain/evidence/answers explain/evidence/stability",
    "explain/page/test_page.py": "explain/page/graph explain/page/graphs "
    "explain/page/graph_predictions explain/page/write",
    "explain/page/test_whole_graph.py": "explain/neighbourhoods",
    "explainers/test_explanation.py": "explainers/drawing",
    "explainers/test_registry.py": "explainers/maskable",
    "formats/test_json_graphs.py": "formats/graph_packer",
    "formats/test_molecule_tables.py": "formats/assemble molecules/prepare",
    "formats/test_node_tables.py": "graphs/masks",
    "formats/test_pyg.py": "formats/tu_collection",
    "listeners/trackers/test_tracker.py": "listeners/trackers/mlflow listeners/trackers/wandb",
    "methods/extracting/test_ciga.py": "methods/parts/splitting",
    "methods/risk/test_irm.py": "methods/risk/ib_irm",
    "methods/test_registry.py": "methods/catalog",
    "models/test_explanations.py": "models/pyg",
    "models/test_folder.py": "models/card",
    "models/test_hub.py": "cli/push",
    "models/test_predict.py": "models/answers runs/defaults",
    "nn/backbones/test_backbones.py": "nn/backbones/gin nn/backbones/layers nn/backbones/pna",
    "nn/backbones/test_backbones_nodes.py": "nn/backbones/gat nn/backbones/gcn "
    "nn/backbones/gprgnn nn/backbones/sage",
    "nn/test_attention_errors.py": "nn/checks",
    "ops/test_soft_top_r_errors.py": "ops/checks",
    "paper/figures/test_gallery.py": "explain/pictures/molecules explain/pictures/sentences",
    "paper/grid/test_runner.py": "paper/tables/explanations",
    "paper/studies/test_runtime.py": "paper/figures/runtime",
}


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def part(path: Path) -> str:
    return relative(path).split("/")[0].removesuffix(".py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Full names of all modules that a file imports, also inside functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)} imports relatively in line {node.lineno}"
            module = node.module or ""
            # `from gsina import metrics` names a part, `from gsina.nn import GIN` a member.
            yield from (f"{module}.{a.name}" for a in node.names) if module == "gsina" else [module]


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Name, as written, of every function that a file calls."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def literal(call: ast.Call, position: int, keyword: str) -> object:
    """The constant given for an argument, or ``None``."""
    given = [k.value for k in call.keywords if k.arg == keyword] + call.args[
        position : position + 1
    ]
    return given[0].value if given and isinstance(given[0], ast.Constant) else None


def writes(name: str, call: ast.Call) -> bool:
    """Whether a call writes a file."""
    if name.endswith(("write_text", "write_bytes", "savefig", "np.save", "np.savez", "to_csv")):
        return True
    if name in ("torch.save", "json.dump", "pickle.dump", "shutil.move", "shutil.copy"):
        return True
    mode = literal(call, 1, "mode") if name == "open" else None
    if name.endswith(".open"):
        mode = literal(call, 0, "mode")
    return isinstance(mode, str) and bool(set(mode) & set("wax+"))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_one_way(path: Path) -> None:
    allowed = ALLOWED[part(path)]
    for module in imports(path):
        first, _, rest = module.partition(".")
        if first == "gsina" and rest and rest.split(".")[0] not in ("__version__", *allowed):
            pytest.fail(
                f"{relative(path)} imports {module}, but {part(path)} may only use {allowed}"
            )


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_the_command_prints(path: Path) -> None:
    if part(path) in ("cli", "__main__"):
        return
    assert not {name for name, _ in calls(path)} & {"print", "sys.stdout.write", "sys.stderr.write"}
    assert not {module.split(".")[0] for module in imports(path)} & {
        "rich",
        "typer",
        "click",
        "tqdm",
    }


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_few_parts_write_files(path: Path) -> None:
    if not relative(path).startswith(WRITERS):
        assert [name for name, call in calls(path) if writes(name, call)] == []


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_nothing_is_unpickled_with_code_execution(path: Path) -> None:
    for name, call in calls(path):
        given = {k.arg: k.value for k in call.keywords}
        line = f"{relative(path)}, line {call.lineno}: {name}"
        assert name not in ("eval", "exec", "pickle.load", "pickle.loads", "joblib.load"), line
        assert name not in ("yaml.load", "dill.load", "cloudpickle.load", "pd.read_pickle"), line
        if name == "torch.load":
            assert ast.unparse(given.get("weights_only", ast.Constant(None))) == "True", line
        if "allow_pickle" in given:
            assert ast.unparse(given["allow_pickle"]) == "False", line


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_no_file_is_long(folder: str) -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_every_part_has_its_rule() -> None:
    assert {part(path) for path in FILES} <= ALLOWED.keys()


def test_the_rules_have_no_circle() -> None:
    """If a part may use another, that one may not use it."""
    for one, uses in ALLOWED.items():
        for other in uses - {one}:
            assert one not in ALLOWED[other], f"{one} and {other} may import each other"


def test_the_studies_of_the_paper_do_not_know_its_grid() -> None:
    """The grid runs them."""
    for path in (SOURCE / "paper" / "studies").glob("*.py"):
        assert not any(name.startswith("gsina.paper.grid") for name in imports(path)), path


def test_only_the_commands_of_the_paper_know_it() -> None:
    users = {
        relative(path)
        for path in FILES
        if part(path) != "paper"
        and any(f"{name}.".startswith("gsina.paper.") for name in imports(path))
    }
    commands = {f"cli/{command}.py" for command in PAPER_COMMANDS}
    assert {user for user in users if not user.startswith("cli/grids/")} <= commands


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_folder_is_crowded(folder: Path) -> None:
    """Few files, and no family of three: that is a folder that was not made."""
    names = [path.stem for path in folder.glob("*.py")]
    assert len(names) <= MOST_FILES
    families = Counter(name.split("_")[0] for name in names if not name.startswith("_"))
    assert [family for family, count in families.items() if count > 2] == []


def modules(folder: Path) -> set[str]:
    """Names of the modules and packages in a folder of the source, and its own."""
    found = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    own = set() if folder == SOURCE else {folder.name}
    return found | own | {path.parent.name for path in folder.glob("*/*.py")}


def module_of(path: Path) -> str | None:
    """The module that a test file is named after, the longest that fits; ``None`` if none does."""
    folder = path.parent.relative_to(TESTS)
    name = path.stem.removeprefix("test_") + "_"
    fitting = [one for one in modules(SOURCE / folder) if name.startswith(f"{one}_")]
    return (folder / max(fitting, key=len)).as_posix() if fitting else None


def test_every_test_file_is_named_after_what_it_tests() -> None:
    for path in TESTS.rglob("test_*.py"):
        name = (path.parent / path.stem.removeprefix("test_")).relative_to(TESTS).as_posix()
        across = any(f"{name}_".startswith(f"{one}_") for one in ACROSS)
        there = across or (SOURCE / path.parent.relative_to(TESTS)).is_dir()
        assert there, f"no such part: {name}"
        assert across or module_of(path), f"{path.name} is named after no module of its folder"


def test_the_lists_of_tests_name_files_that_exist() -> None:
    for one in ACROSS:
        folder, _, name = one.rpartition("/")
        assert list((TESTS / folder).glob(f"test_{name}*.py")), one
    for file, through in THROUGH.items():
        assert (TESTS / file).exists(), file
        assert [name for name in through.split() if not (SOURCE / f"{name}.py").exists()] == []


def test_every_folder_of_the_source_has_one_of_tests() -> None:
    for folder in FOLDERS:
        if any(_lines(path) > UNTESTED for path in folder.glob("[!_]*.py")):
            assert list((TESTS / folder.relative_to(SOURCE)).glob("test_*.py")), relative(folder)


def test_every_module_is_tested_by_name() -> None:
    """It has a test file, or one of its part imports it, or ``THROUGH`` says which one tests it."""
    known = set(" ".join(THROUGH.values()).split())
    for path in TESTS.rglob("test_*.py"):
        room = path.relative_to(TESTS).parts[0]
        known |= {module_of(path) or ""}
        named = {name.removeprefix("gsina.").replace(".", "/") for name in members(path)}
        known |= {name for name in named if name.split("/")[0] == room or path.parent == TESTS}
    long = {
        relative(path)[:-3] for path in FILES if _lines(path) > UNTESTED and path.stem[0] != "_"
    }
    assert sorted(long - known) == []


def members(path: Path) -> Iterator[str]:
    """Full names of all that a file imports, members of modules included."""
    yield from imports(path)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_the_picture_of_the_house_is_fresh() -> None:
    """Otherwise: make house."""
    assert HOUSE["PICTURE"].read_text(encoding="utf-8") == HOUSE["picture"]()


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("open('a', 'w')", True),
        ("open('a', mode='ab')", True),
        ("open('a')", False),
        ("path.open('x')", True),
        ("path.open('rb')", False),
        ("figure.savefig('a.png')", True),
        ("path.write_text('')", True),
        ("path.read_text()", False),
    ],
)
def test_the_detector_of_writes(code: str, found: bool) -> None:
    expression = ast.parse(code, mode="eval").body
    assert isinstance(expression, ast.Call)
    assert writes(ast.unparse(expression.func), expression) is found
