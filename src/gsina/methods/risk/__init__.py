"""Methods that compare risks or pairs of graphs across environments, one file each."""
