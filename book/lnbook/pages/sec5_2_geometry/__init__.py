"""Section 5.2: the Fisher matrix of normalized models, and what it says about curvature."""
