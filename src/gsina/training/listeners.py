"""The earlier place of :mod:`gsina.listeners`."""

from gsina.listeners import Listener, OnEpoch

__all__ = ["Listener", "OnEpoch"]
