"""Beyond the paper: precision, epsilons, and which magnitudes come out right."""
