"""Section 5.1: the contrast of pictures, and Table 1's pictures."""
