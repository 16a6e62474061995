"""Random choices: noise, and hard subgraphs from soft weights."""
