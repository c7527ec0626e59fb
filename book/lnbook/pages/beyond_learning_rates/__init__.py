"""Beyond the paper: what becomes of learning rates when the length of the weights has no effect."""
