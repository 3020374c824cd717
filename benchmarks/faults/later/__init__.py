"""Applications with a planted cause, written after the rules were frozen: three shapes of data."""
