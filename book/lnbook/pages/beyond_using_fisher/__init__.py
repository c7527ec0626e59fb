"""Beyond the paper: a network with two norms, other weights of the same function, and the drawings."""
