"""Explainers of a trained plain network."""
