"""Probes: declare, check, start, stop, report."""
