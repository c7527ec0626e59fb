"""Section 6.5: a network that writes a text with a pen."""
