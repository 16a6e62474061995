"""Published methods, one file each."""

from gsina.methods.base import Method, Output, label_loss, task_loss
from gsina.methods.dir import DIR, DIRConfig
from gsina.methods.erm import ERM, ERMConfig
from gsina.methods.gib import GIB, GIBConfig
from gsina.methods.gsat import GSAT, GSATConfig
from gsina.methods.gsina import GSINA, GSINAConfig
from gsina.methods.registry import METHODS, build_method, make_config

__all__ = [
    "DIR",
    "ERM",
    "GIB",
    "GSAT",
    "GSINA",
    "METHODS",
    "DIRConfig",
    "ERMConfig",
    "GIBConfig",
    "GSATConfig",
    "GSINAConfig",
    "Method",
    "Output",
    "build_method",
    "label_loss",
    "make_config",
    "task_loss",
]
