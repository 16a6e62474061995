"""The examples run, and their pages in the documentation have the same text and code."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gsina.methods import METHODS

ROOT = Path(__file__).parent.parent
EXAMPLES, PAGES = ROOT / "examples", ROOT / "docs" / "examples"
TOOLS = runpy.run_path(str(EXAMPLES / "__main__.py"), run_name="examples")
Run = Callable[[str], str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run an example in an empty folder, without real data; returns what it prints."""
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "none"))
    known = dict(METHODS)
    yield lambda name: "\n".join(TOOLS["run"](EXAMPLES / f"{name}.py", tmp_path))
    METHODS.clear()
    METHODS.update(known)


def test_soft_top_r(run):
    printed = run("soft_top_r")
    assert "temperature  1.0: [0.8" in printed
    assert "means: [0.4, 0.9]" in printed


def test_attention_in_your_own_gnn(run):
    printed = run("attention_in_your_own_gnn")
    assert printed.count("mean edge weight 0.500") == 5
    assert float(printed.split("largest difference:")[1]) < 1e-5


def test_train_spmotif(run, tmp_path):
    assert "id_test  accuracy" in run("train_spmotif")
    out = tmp_path / "runs" / "examples"
    assert (out / "subgraphs.png").exists()
    assert (out / "spmotif" / "result.json").exists()


def test_your_own_method(run):
    printed = run("your_own_method")
    assert "did you mean 'share'?" in printed
    assert "DROP-EDGE is in the list of methods" in printed


def test_attention_or_explainer(run):
    printed = run("attention_or_explainer")
    found = dict(re.findall(r"^(\S+) +ROC-AUC (\S+)", printed, flags=re.MULTILINE))
    assert set(found) == {"attention", "GNNExplainer", "random"}
    assert float(found["attention"]) > float(found["random"])


def test_molecules_from_a_csv(run, tmp_path):
    pytest.importorskip("rdkit")
    printed = run("molecules_from_a_csv")
    assert float(re.findall(r"train    accuracy (\S+)", printed)[0]) > 0.95
    chances = [float(number) for number in re.findall(r"P\(yes\) = (\S+)", printed)]
    assert chances[0] > 0.5 > max(chances[1:])
    assert (tmp_path / "runs" / "examples" / "molecules.png").exists()


@pytest.mark.data
def test_molecules_from_a_csv_with_real_ones(tmp_path):
    from gsina.files import data_dir

    if not (data_dir() / "ogb" / "ogbg_molbace").exists():
        pytest.skip("the BACE file of OGB is not in the data folder")
    printed = "".join(TOOLS["run"](EXAMPLES / "molecules_from_a_csv.py", tmp_path))
    assert re.search(r"^train +\d{4} molecules", printed, flags=re.MULTILINE)


def test_the_bundled_labels_are_right():
    chem = pytest.importorskip("rdkit.Chem")
    acid = chem.MolFromSmarts("C(=O)[OX2H1]")
    with (EXAMPLES / "data" / "acids.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len({row["name"] for row in rows}) == 60
    for row in rows:
        has = chem.MolFromSmiles(row["smiles"]).HasSubstructMatch(acid)
        assert row["acid"] == ("yes" if has else "no"), row["name"]


def test_every_example_has_a_page():
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - {"__main__"}
    assert scripts == set(TOOLS["NAMES"])
    assert (PAGES / "README.md").read_text(encoding="utf-8") == TOOLS["index"]()


@pytest.mark.parametrize("name", TOOLS["NAMES"])
def test_pages_are_up_to_date(name):
    """Text and code are those of the script; only what it printed may differ. Else: make docs."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert "```text\n" in text
    assert TOOLS["without_outputs"](text) == TOOLS["page"](EXAMPLES / f"{name}.py")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (PAGES / link).exists(), link


@pytest.mark.parametrize("name", TOOLS["NAMES"])
def test_notebooks_are_up_to_date(name):
    """Text and code are those of the script, and what it printed stands on its page too."""
    made = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for cell in code:
        for output in cell["outputs"]:
            assert "".join(output["text"]).rstrip() in page
            cell["outputs"] = []
    assert made == json.loads(TOOLS["notebook"](EXAMPLES / f"{name}.py"))
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    for cell in code:
        compile("".join(cell["source"]), name, "exec")
        assert "__file__" not in "".join(cell["source"])


def test_a_notebook_brings_its_data(tmp_path):
    """The first cells write the files that a script has beside it, so that it runs anywhere."""
    made = json.loads(TOOLS["notebook"](EXAMPLES / "molecules_from_a_csv.py"))
    first = next(cell for cell in made["cells"] if cell["cell_type"] == "code")
    with contextlib.chdir(tmp_path):
        exec("".join(first["source"]), {})
    bundled = (EXAMPLES / "data" / "acids.csv").read_bytes()
    assert (tmp_path / "data" / "acids.csv").read_bytes() == bundled


def test_a_notebook_is_one_for_jupyter():
    nbformat = pytest.importorskip("nbformat")
    for name in TOOLS["NAMES"]:
        nbformat.validate(nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4))


def test_a_changed_script_is_noticed(tmp_path):
    script = tmp_path / "a.py"
    script.write_text('"""Title: with more."""\n\n# %% [markdown]\n# Text.\n\n# %%\nprint(1 + 1)\n')
    text = TOOLS["page"](script, TOOLS["run"](script, tmp_path))
    assert text.startswith("# Title\n\nWith more.\n\nText.\n\n```python\nprint(1 + 1)\n```\n\n")
    assert "```text\n2\n```" in text
    assert TOOLS["without_outputs"](text) == TOOLS["page"](script)
    script.write_text(script.read_text().replace("Text.", "Other text."))
    assert TOOLS["without_outputs"](text) != TOOLS["page"](script)
