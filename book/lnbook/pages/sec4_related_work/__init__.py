"""Section 4: which numbers share a statistic, norms as plain weights, and norms in a recurrence."""
