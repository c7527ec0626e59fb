"""Section 3.1: the drift of a recurrence, its gradients, and a network diagnosed."""
