"""Comparisons of lists of times and of runs, and the causes of a difference between runs."""
