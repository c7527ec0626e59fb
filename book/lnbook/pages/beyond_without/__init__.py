"""Beyond the paper: what layer norm does, what it can express, and what networks do without it."""
