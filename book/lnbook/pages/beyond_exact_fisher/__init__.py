"""Beyond the paper: the exact Fisher matrix, what no prediction sees, and learning with it."""
