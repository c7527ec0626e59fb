"""Beyond the paper: where the norm stands in a residual network, and what replaced it."""
