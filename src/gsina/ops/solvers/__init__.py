"""How the weights of a soft top-r are found."""
