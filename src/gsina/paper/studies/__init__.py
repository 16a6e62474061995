"""Measurements that are not grids of runs."""
