"""Section 5.2 and the appendix: curvature, exact Fisher matrices, magnitudes, natural gradients."""
