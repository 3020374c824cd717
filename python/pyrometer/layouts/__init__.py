"""Executor JVMs, task slots and heap: which layout is best, and what it costs."""
