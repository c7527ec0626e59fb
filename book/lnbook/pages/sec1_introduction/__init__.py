"""Section 1: what batch norm takes from a batch, and what it costs to share one among processes."""
