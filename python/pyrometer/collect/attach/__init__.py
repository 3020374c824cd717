"""Observe a JVM or a process that is already running."""
