"""Beyond the paper: what a normalization does to the dynamics of a recurrence."""
