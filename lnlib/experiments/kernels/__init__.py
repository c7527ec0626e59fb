"""Loops of experiments, compiled by numba."""
