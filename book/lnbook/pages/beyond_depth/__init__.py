"""Beyond the paper: where the norm stands in deep residual networks, before and after training."""
