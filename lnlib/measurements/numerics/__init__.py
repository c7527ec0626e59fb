"""Beyond the paper: rounding, variances, epsilons."""
