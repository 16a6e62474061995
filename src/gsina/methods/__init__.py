"""Published methods, one file each."""

from gsina.methods.base import Method, Output, task_loss
from gsina.methods.erm import ERM, ERMConfig
from gsina.methods.gsat import GSAT, GSATConfig
from gsina.methods.gsina import GSINA, GSINAConfig
from gsina.methods.registry import METHODS, build_method, make_config

__all__ = [
    "ERM",
    "GSAT",
    "GSINA",
    "METHODS",
    "ERMConfig",
    "GSATConfig",
    "GSINAConfig",
    "Method",
    "Output",
    "build_method",
    "make_config",
    "task_loss",
]
