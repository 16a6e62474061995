"""Trained models: their folder, their card, and what they predict."""
