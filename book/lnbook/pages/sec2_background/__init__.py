"""Section 2: mini-batches and their statistics."""
