"""Search for good settings, on validation data only."""
