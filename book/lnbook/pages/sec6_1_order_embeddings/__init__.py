"""Section 6.1: captions and pictures in one space with an order."""
