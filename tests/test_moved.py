"""Names of version 0.1 answer, those that moved with a warning that says where they are now."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module
from pkgutil import resolve_name

import pytest

from gsina.moved import MOVED

#: What version 0.1 listed in ``__all__``, and what its pages and examples told people to import.
PUBLIC = """
gsina: GSINA Attention GraphClassifier GraphRegressor GraphSinkhornAttention NodeClassifier
gsina: load_model soft_top_r data estimators explain methods metrics nn ops training
gsina.data: Batch PackedGraphs Task spmotif
gsina.data.dataset: Dataset
gsina.data.files: data_dir
gsina.data.molecules: pack_smiles
gsina.data.own: read_molecules read_graphs read_nodes from_pyg read_tu_graphs read_data_file
gsina.data.own: stream_graphs stream_molecules
gsina.data.spmotif: generate
gsina.data.task: Task
gsina.experiments.published: default_recipe
gsina.experiments.run: run
gsina.explain.molecule_pictures: draw_molecules
gsina.explain.pictures: draw_subgraphs
gsina.explain.posthoc: explain_split sample_graphs
gsina.estimators: GraphClassifier GraphRegressor NodeClassifier
gsina.methods: ASAP ASAPConfig CIGA CIGAv1Config CIGAv2Config CNC CNCConfig DIR DIRConfig EERM
gsina.methods: EERMConfig EIIL EIILConfig EnvironmentConfig ERM ERMConfig GIB GIBConfig GSAT
gsina.methods: GSATConfig GSINA GSINAConfig IBIRM IBIRMConfig IGM IGMConfig IRM IRMConfig METHODS
gsina.methods: Method Output SuGAr SuGArConfig VREx build_method label_loss make_config task_loss
gsina.methods.gsat: GSAT GSATConfig
gsina.methods.irm: IRM
gsina.methods.registry: register
gsina.nn: Attention GraphSinkhornAttention NetworkSpec Predictor readout weighted_messages
gsina.nn.attention: Attention
gsina.nn.predictor: NetworkSpec
gsina.ops: Diagnostics Groups reverse_edges soft_top_r
gsina.training: SELECTIONS Diverged Interrupted Predictions Progress Selection Settings
gsina.training: UnusableCheckpoint evaluate fit make_selection predict score seed_everything
gsina.training.model_folder: load_model save_model
"""
NAMES = [
    (module, name)
    for module, names in (line.split(": ") for line in PUBLIC.strip().splitlines())
    for name in names.split()
]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda text: text)
def test_a_public_name_of_version_0_1_answers(module: str, name: str) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = getattr(import_module(module), name)
    said = [str(one.message) for one in heard if "version 0.3" in str(one.message)]
    if module not in MOVED:
        assert not said
        return
    (text,) = said
    assert text.startswith(f"{module}.{name} is gsina.")
    assert text.endswith("now; the old name goes away in version 0.3.")
    home = text.split(" is ")[1].split(" now;")[0]
    assert resolve_name(home) is found
    assert not home.startswith(f"{module}.")


@pytest.mark.parametrize("module", MOVED)
def test_every_home_exists(module: str) -> None:
    homes = MOVED[module]
    for home in homes.values() if isinstance(homes, dict) else [homes]:
        assert resolve_name(home)


def test_an_old_import_names_the_line_of_the_user() -> None:
    with pytest.warns(DeprecationWarning, match=r"gsina\.data\.own\.read_molecules is ") as heard:
        exec("from gsina.data.own import read_molecules")
    assert heard[0].filename == "<string>"


@pytest.mark.parametrize("name", ["Graph", "_private", "__path_of__"])
def test_an_unknown_name_is_none(name: str) -> None:
    for module in ("gsina.data", "gsina.data.own"):
        with pytest.raises(AttributeError, match=f"{module}' has no attribute '{name}'"):
            getattr(import_module(module), name)


def test_other_modules_are_not_made_up() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("gsina.data.nothing")


def test_the_old_names_cost_nothing_before_they_are_used() -> None:
    code = "import sys, gsina; print('torch' in sys.modules, 'gsina.data' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
