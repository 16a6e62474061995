"""Explanations: of a trained model's attention, and post hoc; and pictures of both."""
