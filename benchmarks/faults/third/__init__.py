"""Applications with a planted cause, the third set: again three shapes of data, other forms."""
