"""Generators of data: the only part of workloads that imports DuckDB, Arrow and NumPy."""
