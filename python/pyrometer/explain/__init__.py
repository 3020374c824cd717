"""Findings: why a job is slow, what to change, and how many seconds that saves."""
