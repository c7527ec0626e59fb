"""Sections 3.1 and 4, the supplement's cells, their variants and dynamics."""
