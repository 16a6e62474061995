"""Molecules from a CSV file: train, predict, and see which bonds decide."""

# %% [markdown]
# All that is needed is a file with a column of SMILES and a column to predict. The bundled one
# holds sixty everyday molecules and says whether they have a carboxylic acid group, C(=O)OH; some
# of the others have the same atoms, arranged as an ester, an amide or an alcohol. If the folder of
# raw data (`GSINA_DATA`) has the BACE file of OGB, that is used instead: a real drug target.

# %%
from pathlib import Path

import torch

from gsina import GraphClassifier
from gsina.explain.pictures.molecules import draw_molecules
from gsina.files import data_dir
from gsina.formats import read_molecules
from gsina.molecules.packing import pack_smiles

torch.set_num_threads(1)  # batches of small graphs gain nothing from more
bace = data_dir() / "ogb" / "ogbg_molbace" / "mapping" / "mol.csv.gz"
if bace.exists():
    data = read_molecules(bace, smiles="smiles", targets=["Class"], split="scaffold")
    settings = {"epochs": 6, "hidden_channels": 32}
else:
    acids = Path(__file__).parent / "data" / "acids.csv"
    data = read_molecules(acids, smiles="smiles", targets=["acid"], split="random")
    settings = {"epochs": 60, "batch_size": 8, "learning_rate": 3e-3}

for split, smiles in data.origin.names.items():
    print(f"{split:8} {len(smiles):5} molecules, such as {smiles[0]}")
for note in data.notes:
    print("note:", note)

# %% [markdown]
# The split is part of reading: `random` here, because sixty molecules are too few for anything
# harder. By default whole scaffolds are held out, which shows how a model does on new chemistry.
#
# `ratio` is the share of the bonds that the model may look at: it has to choose.

# %%
model = GraphClassifier(ratio=0.4, **settings).fit(data)
for split in ("train", "val", "test"):
    print(f"{split:8} accuracy {model.score(data.splits[split]):.2f}")

# %% [markdown]
# ## New molecules
#
# Butanoic acid with a chlorine, an ester of it, and a phenol.

# %%
new = ["OC(=O)CCCCl", "COC(=O)CCCCl", "Oc1ccc(Cl)cc1"]
graphs = pack_smiles(new).graphs
for text, probability in zip(new, model.predict_proba(graphs)[:, 1], strict=True):
    print(f"{text:16} P({model.classes_[1]}) = {probability:.3f}")

# %% [markdown]
# ## What it looks at
#
# `explain` gives the weight of every bond and atom, in the order of the graph; the picture shows
# test molecules with their bonds as red as their weight.

# %%
weights = model.explain(graphs)[0]
print("mean weight of the bonds:", round(weights.edge_mask.mean().item(), 3))

test, out = data.test, Path("runs/examples")
predictions = model.model_.predict(test)
picture = {"columns": 3, "class_names": data.class_names}
draw_molecules(test, predictions, data.origin.names["test"], out / "molecules.png", **picture)
model.save(out / "molecules")  # `gsina predict runs/examples/molecules new.csv` takes it from here

# %% [markdown]
# ![Test molecules and the weights of their bonds](runs/examples/molecules.png)
#
# The same from a shell, with a page that opens in any browser at the end:
#
#     gsina train examples/data/acids.csv --smiles smiles --target acid --split random --out run
