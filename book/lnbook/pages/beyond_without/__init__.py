"""Beyond the paper: what networks do without a norm, and which of its jobs each way takes over."""
