"""One launch of one treatment, as values: factors, levels, trials."""
