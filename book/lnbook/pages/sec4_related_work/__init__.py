"""Section 4: path norms, norms of plain weights, and other norms in a recurrence."""
