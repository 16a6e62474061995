"""Raw files: where they come from, and safe readers of old formats."""
