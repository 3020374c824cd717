"""Slow-down by measuring, found with two JVMs that run at once: one bare, one measured."""
