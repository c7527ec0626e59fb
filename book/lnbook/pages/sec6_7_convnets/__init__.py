"""Section 6.7: pictures of clothes, several norms, and why one is behind."""
