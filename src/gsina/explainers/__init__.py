"""Explanations of single answers, and explainers that find them after the fact."""
