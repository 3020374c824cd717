"""Benchmarks of the event-log reader."""
