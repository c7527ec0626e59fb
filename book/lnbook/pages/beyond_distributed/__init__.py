"""Beyond the paper: several processes that train one model."""
