"""Statistics of times and shares: arrays in, estimates out. Knows nothing of Spark."""
