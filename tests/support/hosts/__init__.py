"""Clocks and applications of several hosts, invented."""
