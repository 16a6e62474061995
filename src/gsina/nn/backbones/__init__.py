"""Networks of the benchmarks. Each returns node states and knows its readout and head."""

from gsina.nn.backbones.gat import GAT
from gsina.nn.backbones.gcn import GCN
from gsina.nn.backbones.gin import GIN
from gsina.nn.backbones.gprgnn import GPRGNN
from gsina.nn.backbones.ogb import OGBGCN, OGBGIN
from gsina.nn.backbones.pna import PNA
from gsina.nn.backbones.protocol import Backbone, BackboneModule
from gsina.nn.backbones.sage import SAGE
from gsina.nn.backbones.spmotifnet import SPMotifNet

#: The networks, by the name that recipes and estimators use.
BACKBONES: dict[str, type[BackboneModule]] = {
    "gin": GIN,
    "pna": PNA,
    "spmotifnet": SPMotifNet,
    "ogb-gcn": OGBGCN,
    "ogb-gin": OGBGIN,
    "gcn": GCN,
    "sage": SAGE,
    "gat": GAT,
    "gprgnn": GPRGNN,
}

__all__ = [
    "BACKBONES",
    "GAT",
    "GCN",
    "GIN",
    "GPRGNN",
    "OGBGCN",
    "OGBGIN",
    "PNA",
    "SAGE",
    "Backbone",
    "BackboneModule",
    "SPMotifNet",
]
