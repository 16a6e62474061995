"""Images as graphs."""
