"""Section 5.2: curvature, and how weights grow."""
