"""Scaling: levels of a number of workers, laws fitted to them, the knee, and what bends the curve.

Pure functions from observations to a report; nothing here reads a file.
"""
