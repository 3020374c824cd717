"""Layouts: executor JVMs × task slots × heap, where they run, which is the best, and what it costs.

Pure functions from an experiment's trials to a report.
"""
