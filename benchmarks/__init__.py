"""Comparisons with peers, and the cost of measuring. Times are compared here, never in tests."""
