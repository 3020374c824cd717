"""What rules look at by host: what tasks lost on each, and what its network moved."""
