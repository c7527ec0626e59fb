"""Beyond the paper: shift, smoothness, and gradients through the statistics."""
