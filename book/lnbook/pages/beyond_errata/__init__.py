"""Beyond the paper: what its misprints change."""
