"""Section 6.4: a network that paints digits glimpse by glimpse."""
