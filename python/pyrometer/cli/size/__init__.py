"""Verbs about the size of a cluster."""
