"""The paper's statements, what was measured for them, how it came about, and the verdicts."""
