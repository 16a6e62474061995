"""Networks of the benchmarks. Each returns node states and knows its readout and head."""

from gsina.nn.backbones.gin import GIN
from gsina.nn.backbones.pna import PNA
from gsina.nn.backbones.spmotifnet import SPMotifNet

BACKBONES = {"gin": GIN, "pna": PNA, "spmotifnet": SPMotifNet}

__all__ = ["BACKBONES", "GIN", "PNA", "SPMotifNet"]
