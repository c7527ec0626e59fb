"""Beyond the paper: what normalized before layer norm, and what came after."""
