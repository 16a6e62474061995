"""What a set of graphs is: packed storage, batches, tasks, datasets."""
