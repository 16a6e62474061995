"""Published methods, one file each."""

from gsina.methods.asap import ASAP, ASAPConfig
from gsina.methods.base import Method, Output, label_loss, task_loss
from gsina.methods.ciga import CIGA, CIGAv1Config, CIGAv2Config
from gsina.methods.cnc import CNC, CNCConfig
from gsina.methods.dir import DIR, DIRConfig
from gsina.methods.eerm import EERM, EERMConfig
from gsina.methods.eiil import EIIL, EIILConfig
from gsina.methods.erm import ERM, ERMConfig
from gsina.methods.gib import GIB, GIBConfig
from gsina.methods.gsat import GSAT, GSATConfig
from gsina.methods.gsina import GSINA, GSINAConfig
from gsina.methods.ib_irm import IBIRM, IBIRMConfig
from gsina.methods.igm import IGM, IGMConfig
from gsina.methods.irm import IRM, IRMConfig
from gsina.methods.parts.environments import EnvironmentConfig
from gsina.methods.registry import METHODS, build_method, make_config
from gsina.methods.sugar import SuGAr, SuGArConfig
from gsina.methods.vrex import VREx

__all__ = [
    "ASAP",
    "CIGA",
    "CNC",
    "DIR",
    "EERM",
    "EIIL",
    "ERM",
    "GIB",
    "GSAT",
    "GSINA",
    "IBIRM",
    "IGM",
    "IRM",
    "METHODS",
    "ASAPConfig",
    "CIGAv1Config",
    "CIGAv2Config",
    "CNCConfig",
    "DIRConfig",
    "EERMConfig",
    "EIILConfig",
    "ERMConfig",
    "EnvironmentConfig",
    "GIBConfig",
    "GSATConfig",
    "GSINAConfig",
    "IBIRMConfig",
    "IGMConfig",
    "IRMConfig",
    "Method",
    "Output",
    "SuGAr",
    "SuGArConfig",
    "VREx",
    "build_method",
    "label_loss",
    "make_config",
    "task_loss",
]
