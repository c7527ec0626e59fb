"""Section 6.3: sentences that predict their neighbors, and what their vectors are good for."""
