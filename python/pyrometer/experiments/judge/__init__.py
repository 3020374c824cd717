"""Verdicts of an experiment: analysis, terminal view, page."""
