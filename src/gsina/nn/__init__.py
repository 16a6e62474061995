"""Modules on the operators: attention, message weighting, readout, backbones."""

from gsina.nn.attention import Attention, GraphSinkhornAttention
from gsina.nn.predictor import NetworkSpec, Predictor
from gsina.nn.readout import readout
from gsina.nn.weighting import weighted_messages

__all__ = [
    "Attention",
    "GraphSinkhornAttention",
    "NetworkSpec",
    "Predictor",
    "readout",
    "weighted_messages",
]
