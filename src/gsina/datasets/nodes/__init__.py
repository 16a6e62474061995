"""Datasets whose nodes are classified."""
