"""The methods of the package: plain data, so that they can be listed without importing torch.

One method is one module and one entry here.
"""

from __future__ import annotations

from typing import Any

from gsina.methods.registry import METHODS, MethodEntry

__all__ = ["METHODS"]

GRAPHS, NODES = ("graph",), ("node",)
ACROSS_ENVIRONMENTS = "compares environments of whole graphs"
SPLITS = "cuts a hard top share of the edges out of whole graphs"
CONTRASTS = "contrasts graphs by their classes"
#: Kinds of task with classes to contrast.
CLASSES = ("multiclass", "binary")


def _add(
    name: str,
    method: str,
    paper: str,
    levels: tuple[str, ...] = GRAPHS,
    *,
    config: str = "",
    label: str = "",
    **more: Any,
) -> None:
    """Add a method ``module:class``, whose settings are by default ``module:classConfig``."""
    where, settings = f"gsina.methods.{method}", f"gsina.methods.{config or f'{method}Config'}"
    METHODS[name] = MethodEntry(name, where, settings, paper, levels, label or name.upper(), **more)


_add(
    "asap",
    "extracting.asap:ASAP",
    "Ranjan, Sanyal, Talukdar, ASAP: adaptive structure aware pooling for learning hierarchical "
    "graph representations, AAAI 2020",
    about="pools the nodes of whole graphs",
)
_add(
    "cal",
    "extracting.cal:CAL",
    "Sui, Wang, Wu, Lin, He, Chua, Causal attention for interpretable and generalizable graph "
    "classification, KDD 2022",
    kinds=CLASSES,
    about="adds shortcuts of other graphs to whole graphs, of which it must know no class",
)
_add(
    "canet",
    "nodes.canet:CaNet",
    "Wu, Nie, Yang, Bao, Yan, Graph out-of-distribution generalization via causal intervention, "
    "WWW 2024",
    NODES,
    label="CaNet",
    about="infers environments of nodes",
)
for _version in ("v1", "v2"):
    _add(
        f"ciga{_version}",
        "extracting.ciga:CIGA",
        "Chen et al., Learning causally invariant representations for out-of-distribution "
        "generalization on graphs, NeurIPS 2022",
        config=f"extracting.ciga:CIGA{_version}Config",
        label=f"CIGA{_version}",
        kinds=CLASSES,
        about=f"{SPLITS}, {CONTRASTS}",
    )
_add(
    "cnc",
    "risk.cnc:CNC",
    "Zhang, Sohoni, Zhang, Finn, Re, Correct-N-Contrast: a contrastive approach for improving "
    "robustness to spurious correlations, ICML 2022",
    kinds=CLASSES,
    about=CONTRASTS,
    graph_features=True,
)
_add(
    "dir",
    "extracting.dir:DIR",
    "Wu, Wang, Zhang, He, Chua, Discovering invariant rationales for graph neural networks, "
    "ICLR 2022",
    about=SPLITS,
)
_add(
    "disc",
    "extracting.disc:DisC",
    "Fan, Wang, Mo, Shi, Tang, Debiasing graph neural networks via learning disentangled causal "
    "substructure, NeurIPS 2022",
    label="DisC",
    kinds=CLASSES,
    about="swaps biased parts of whole graphs by their classes",
)
_add(
    "eerm",
    "nodes.eerm:EERM",
    "Wu et al., Handling distribution shifts on graphs: an invariance perspective, ICLR 2022",
    NODES,
    about="edits the neighbourhoods of nodes",
)
_add(
    "eiil",
    "risk.eiil:EIIL",
    "Creager, Jacobsen, Zemel, Environment inference for invariant learning, ICML 2021",
    about=ACROSS_ENVIRONMENTS,
    graph_features=True,
)
_add(
    "erm",
    "erm:ERM",
    "Vapnik, Principles of risk minimization for learning theory, 1991",
    GRAPHS + NODES,
    note="the tables' Oracle (IID) is this method on data without a shift",
    graph_features=True,
)
_add(
    "gala",
    "extracting.gala:GALA",
    "Chen et al., Does invariant graph learning via environment augmentation learn invariance?, "
    "NeurIPS 2023",
    kinds=CLASSES,
    about=f"extracts subgraphs of whole graphs, {CONTRASTS}",
)
_add(
    "gib",
    "extracting.gib:GIB",
    "Yu, Xu, Rong, Bian, Huang, He, Graph information bottleneck for subgraph recognition, "
    "ICLR 2021",
)
for _version in ("Lin", "Sam"):
    _add(
        f"gmt-{_version.lower()}",
        f"extracting.gmt:GMT{_version}",
        "Chen, Bian, Han, Cheng, How interpretable are interpretable graph neural networks?, "
        "ICML 2024",
        label=f"GMT-{_version.lower()}",
        graph_features=True,
    )
_add(
    "grea",
    "extracting.grea:GREA",
    "Liu, Zhao, Xu, Luo, Jiang, Graph rationalization with environment-based augmentations, "
    "KDD 2022",
    about="replaces the environments of whole graphs",
)
_add(
    "gsat",
    "extracting.gsat:GSAT",
    "Miao, Liu, Li, Interpretable and generalizable graph learning via stochastic attention "
    "mechanism, ICML 2022",
    graph_features=True,
)
_add(
    "gsina",
    "gsina:GSINA",
    "Yan et al., Improving subgraph extraction for graph invariant learning via graph Sinkhorn "
    "attention",
    GRAPHS + NODES,
    graph_features=True,
)
_add(
    "ib-irm",
    "risk.ib_irm:IBIRM",
    "Ahuja et al., Invariance principle meets information bottleneck for out-of-distribution "
    "generalization, NeurIPS 2021",
    about=ACROSS_ENVIRONMENTS,
    graph_features=True,
)
_add(
    "igm",
    "extracting.igm:IGM",
    "Jia et al., Graph invariant learning with subgraph co-mixup for out-of-distribution "
    "generalization, AAAI 2024",
    note="rebuilt from its paper; the released code does not run as it is",
    about=SPLITS,
)
_add(
    "irm",
    "risk.irm:IRM",
    "Arjovsky, Bottou, Gulrajani, Lopez-Paz, Invariant risk minimization, 2019",
    about=ACROSS_ENVIRONMENTS,
    graph_features=True,
)
_add(
    "prune",
    "extracting.prune:PrunE",
    "Yao et al., Pruning spurious subgraphs for graph out-of-distribution generalization, "
    "NeurIPS 2025",
    label="PrunE",
    graph_features=True,
)
_add(
    "sugar",
    "extracting.sugar:SuGAr",
    "Liu et al., Subgraph aggregation for out-of-distribution generalization on graphs, AAAI 2025",
    label="SuGAr (reconstruction)",
    note="a reconstruction from an incomplete public description",
    kinds=CLASSES,
    about=f"{SPLITS}, {CONTRASTS}",
)
_add(
    "vrex",
    "risk.vrex:VREx",
    "Krueger et al., Out-of-distribution generalization via risk extrapolation, ICML 2021",
    config="parts.environments:EnvironmentConfig",
    label="V-REx",
    about=ACROSS_ENVIRONMENTS,
    graph_features=True,
)
