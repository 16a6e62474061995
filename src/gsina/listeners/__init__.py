"""Who hears of a training: the log, notebooks, trackers; nothing here needs torch."""

from gsina.listeners.base import Beginning, Ending, Listener, OnEpoch, Stopped, told

__all__ = ["Beginning", "Ending", "Listener", "OnEpoch", "Stopped", "told"]
