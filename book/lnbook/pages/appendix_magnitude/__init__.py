"""The appendix on the magnitude of weights: its measurements and pictures."""
