"""Beyond the paper: what a layer norm can and cannot express."""
