"""Sections 1 to 3: mini-batches, shift, summed inputs, contrast."""
