"""Sentences as graphs."""
