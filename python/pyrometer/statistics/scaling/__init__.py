"""Laws of scaling: levels, fits, predictions, the knee."""
