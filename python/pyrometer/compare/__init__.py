"""Comparisons of lists of times."""
