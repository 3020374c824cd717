"""Verbs that compare runs, and plan experiments."""
