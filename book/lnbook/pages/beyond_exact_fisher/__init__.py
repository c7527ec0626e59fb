"""Beyond the paper: the exact Fisher matrix, its null directions, and learning with it."""
