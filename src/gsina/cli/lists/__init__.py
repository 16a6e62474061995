"""Commands that tell what is there, and change nothing."""
