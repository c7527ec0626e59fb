"""Section 6.6: digits as vectors, several norms and batch sizes."""
