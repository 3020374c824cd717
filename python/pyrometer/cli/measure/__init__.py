"""Verbs that make runs."""
