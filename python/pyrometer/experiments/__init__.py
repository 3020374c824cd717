"""Experiments: planned, run trial by trial, resumed, judged."""
