"""Datasets of the GOOD benchmark, rebuilt from the description in its paper."""
