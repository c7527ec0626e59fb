"""Beyond the paper: which numbers of a tensor share a mean, and padding."""
