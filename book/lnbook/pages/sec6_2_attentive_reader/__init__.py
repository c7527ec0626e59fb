"""Section 6.2: questions about passages, and where a network looks for the answer."""
