"""Section 3: the summed inputs of a layer."""
