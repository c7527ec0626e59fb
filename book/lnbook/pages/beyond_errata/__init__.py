"""Beyond the paper: what its errors in print change."""
