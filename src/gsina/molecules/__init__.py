"""SMILES to graphs: features, parsing, scaffolds."""
