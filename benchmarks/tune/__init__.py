"""Engines of tuning compared on replayed tables and invented surfaces: no Spark, no launch."""
