"""Methods for labels of nodes only, one file each."""
