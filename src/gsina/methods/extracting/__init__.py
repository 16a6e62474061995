"""Methods that extract a part of every graph, one file each."""
