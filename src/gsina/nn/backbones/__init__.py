"""Networks of the benchmarks. Each returns node states and knows its readout and head."""

from gsina.nn.backbones.gin import GIN

BACKBONES = {"gin": GIN}

__all__ = ["BACKBONES", "GIN"]
