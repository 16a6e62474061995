"""The named datasets, one file per family."""
