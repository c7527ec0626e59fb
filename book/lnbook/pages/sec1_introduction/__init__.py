"""Section 1: batch norm's speed-up with plain SGD, and what the noise of its statistics does."""
