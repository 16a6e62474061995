"""What `gsina bench` does with the runs of its tables."""
