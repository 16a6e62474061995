"""The documentation, and the programs that make it."""
