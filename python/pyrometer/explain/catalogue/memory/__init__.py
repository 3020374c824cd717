"""Causes in memory: spilling, collections, eviction, limits, swap."""
