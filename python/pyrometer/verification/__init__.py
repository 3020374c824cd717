"""Findings put to the test: an experiment of as it was against with the remedy, and its verdict."""
