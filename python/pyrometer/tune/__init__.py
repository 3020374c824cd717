"""A faster configuration that is safe: found at least cost, and confirmed in fresh trials."""
