"""Attention or a post-hoc explainer: which of them finds the part that decides?"""

# %% [markdown]
# There are two ways to learn why a model says what it says. A *post-hoc explainer* such as
# GNNExplainer takes a trained model and searches, graph by graph, for the few edges that keep its
# answer. GSINA's *attention* is part of the model: what it predicts comes from those edges.
#
# Spurious-Motif knows the truth: a graph is a base with a motif hung on it, and only the motif
# decides the label. So both can be scored by how well their weights separate the edges of the motif
# from the others (ROC-AUC; 0.5 is a guess).

# %%
import time

import torch

from gsina import metrics
from gsina.datasets.spmotif import generate
from gsina.explainers.registry import explain_split, sample_graphs
from gsina.graphs.dataset import Dataset
from gsina.graphs.task import Task
from gsina.methods import build_method
from gsina.nn.predictor import NetworkSpec
from gsina.training import Settings, fit, make_selection, predict

torch.set_num_threads(1)  # batches of small graphs gain nothing from more
splits = {name: generate(bias=0.5, split=name, num_per_class=200) for name in ("train", "val")}
splits["id_test"] = generate(bias=0.5, split="id_test", num_per_class=40)
dataset = Dataset("spmotif", Task("multiclass", 3), splits)
print({name: len(graphs) for name, graphs in dataset.splits.items()})

# %% [markdown]
# A plain network (ERM), and the same network behind Graph Sinkhorn Attention.


# %%
def train(name, **options):
    torch.manual_seed(0)
    spec = NetworkSpec("gin", dataset.train.num_features)
    model = build_method(name, spec, dataset.task, options)
    settings = Settings(epochs=10, batch_size=64, learning_rate=3e-3)
    done = fit(model, dataset, settings, make_selection("latest-best"))
    best = done.history[done.best_epoch]
    print(f"{name:6} validation accuracy {best['val']['accuracy']:.3f}")
    return model


plain, gsina = train("erm"), train("gsina", ratio=0.6)

# %% [markdown]
# ## The same graphs, explained in both ways

# %%
graphs = sample_graphs(dataset.splits["id_test"], 60)
owner = torch.repeat_interleave(graphs.edge_ptr.diff())


def judge(name, explain):
    began = time.perf_counter()
    weights = explain()
    seconds = time.perf_counter() - began
    auc = metrics.explanation_auc_per_graph(weights, graphs.edge_truth, owner)
    print(f"{name:14} ROC-AUC {auc:.3f}   {1000 * seconds / len(graphs):6.1f} ms a graph")


judge("attention", lambda: predict(gsina, graphs).edge)
judge("GNNExplainer", lambda: explain_split(plain, graphs, "gnnexplainer"))
judge("random", lambda: torch.rand(graphs.edge_index.size(1)))

# %% [markdown]
# Attention costs one pass of the model, an explainer a hundred. A few hundred graphs and ten epochs
# are too little to rank them, though: `gsina bench` runs the whole comparison, with PGExplainer and
# GraphMask, over seeds, and [the results](../results/explanations.md) have the numbers.
