"""Experiments: planned, run trial by trial, resumed. Beside ``pipeline``, this launches."""
