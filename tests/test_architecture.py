"""The blueprint's rules of the source, read off its syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gsina"
FILES = sorted(SOURCE.rglob("*.py"))

#: What each part of the package may import of the package besides itself; arrows point one way.
BELOW = {
    "errors": "",
    "files": "errors",
    "parallel": "errors",
    "ops": "errors",
    "metrics": "errors",
    "graphs": "ops files parallel metrics",
    "molecules": "graphs",
    "datasets": "molecules",
    "formats": "datasets",
    "nn": "graphs",
    "methods": "nn",
    "training": "methods",
    "models": "training formats",
    "explain": "models",
    "estimators": "explain",
    "runs": "explain",
    "tuning": "runs",
    "paper": "tuning",
    "cli": "paper estimators",
    "__init__": "estimators runs",
    "__main__": "cli",
}


def reach(part: str) -> set[str]:
    """Everything below a part, itself included."""
    return {part}.union(*(reach(below) for below in BELOW[part].split()))


ALLOWED = {part: reach(part) for part in BELOW}
#: The only commands that know the reproduction of the paper.
PAPER_COMMANDS = ("bench", "report", "figure", "demo")
#: Who may write files; others go through the atomic helpers of `gsina.files`.
WRITERS = ("files.py", "datasets/", "formats/", "training/", "models/", "explain/", "runs/run.py")
LONGEST = 400


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


def test_tests_mirror_the_source() -> None:
    """A test folder or file `tests/a/...` belongs to a part `a` of the source."""
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py"))}
    assert folders <= ALLOWED.keys()


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
