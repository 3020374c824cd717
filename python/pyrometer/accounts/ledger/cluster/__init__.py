"""Rows of the ledger that a cluster alone has, or that need the times of several hosts."""
