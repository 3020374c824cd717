"""Causes in the plan of a query and in its expressions: joins, exchanges, recomputation."""
