"""Runs of the same treatment over time."""
