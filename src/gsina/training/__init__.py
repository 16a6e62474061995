"""The loop, selection rules, checkpoints and seeds."""

from gsina.training.checkpoint import UnusableCheckpoint
from gsina.training.evaluate import Predictions, evaluate, predict, score
from gsina.training.failures import Diverged, Interrupted, OutOfMemory
from gsina.training.loop import Progress, Settings, fit
from gsina.training.seeds import seed_everything
from gsina.training.selection import SELECTIONS, Selection, make_selection

__all__ = [
    "SELECTIONS",
    "Diverged",
    "Interrupted",
    "OutOfMemory",
    "Predictions",
    "Progress",
    "Selection",
    "Settings",
    "UnusableCheckpoint",
    "evaluate",
    "fit",
    "make_selection",
    "predict",
    "score",
    "seed_everything",
]
