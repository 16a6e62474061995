"""Add a method of your own: one class, and the whole package knows it."""

# %% [markdown]
# A method is a model together with its training objective. This one is DropEdge (Rong et al.,
# 2020): in training every message is left out with probability `share`, so that no single edge
# becomes indispensable. It needs three things:
#
# * settings: a frozen dataclass with defaults;
# * `build`, which makes a fresh model from a *spec* (it knows the backbone and the widths of the
#   data) and the *task* (it knows the labels);
# * `forward`, which predicts. The loss is that of the task unless `loss` says something else.

# %%
from dataclasses import dataclass

import torch

from gsina import GraphClassifier
from gsina.datasets.spmotif import generate
from gsina.methods import METHODS, Method, Output
from gsina.methods.registry import register
from gsina.nn.attention import Attention
from gsina.runs.published import default_recipe
from gsina.runs.run import run

torch.set_num_threads(1)  # batches of small graphs gain nothing from more


@dataclass(frozen=True)
class DropEdgeConfig:
    """Share of the edges that are left out."""

    share: float = 0.2


@register(
    name="drop-edge",
    config=DropEdgeConfig,
    paper="Rong et al., DropEdge, ICLR 2020",
    levels=("graph", "node"),
)
class DropEdge(Method):
    """Train on graphs that miss some of their edges."""

    def __init__(self, predictor, task, config):
        super().__init__(task)
        self.predictor, self.config = predictor, config

    @classmethod
    def build(cls, spec, task, config):
        """A fresh model."""
        return cls(spec.predictor(task), task, config)

    def forward(self, batch):
        """Logits of every graph."""
        if not self.training:
            return Output(self.predictor(batch))
        keep = torch.rand(batch.num_edges) >= self.config.share
        return Output(self.predictor(batch, Attention(keep.float(), None, None)))


# %% [markdown]
# That is all. In this program the name now works wherever a method is named, with its settings
# checked like those of the others: in recipes,

# %%
recipe = default_recipe(
    "spmotif",
    method="drop-edge",
    data={"num_per_class": 100},
    options={"share": 0.1},
    epochs=4,
    batch_size=32,
)
for split, scores in run(recipe, seed=0).result["metrics"].items():
    print(f"{split:8} accuracy {scores['accuracy']:.3f}")

# %% [markdown]
# in the estimators,

# %%
graphs = generate(bias=0.5, num_per_class=60)
model = GraphClassifier(method="drop-edge", epochs=10, learning_rate=5e-3, trees=False)
model.fit(graphs, graphs.y)
print(f"accuracy on its training graphs {model.score(graphs, graphs.y):.3f}")

# %% [markdown]
# and in messages.

# %%
try:
    default_recipe("spmotif", method="drop-edge", options={"shrae": 0.1})
except ValueError as error:
    print(error)
print(METHODS["drop-edge"].label, "is in the list of methods")

# %% [markdown]
# To make it part of the package, put the class into a file of `src/gsina/methods` and its entry
# into `catalog.py` there, in place of `@register`; a battery of tests then runs on it by itself.
# [CONTRIBUTING](../../CONTRIBUTING.md) says more.
