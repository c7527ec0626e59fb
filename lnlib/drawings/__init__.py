"""Figures that take more ink than thought: one module a chapter's pictures, given what the page computed.

Each function returns a figure for `plots.figure`, where the page says what it shows. No drawing computes a
result.
"""
