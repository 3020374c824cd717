"""What rules look at in Python workers: what they do, for which function, and their starts."""
