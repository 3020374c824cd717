"""Values that every room uses: estimates, doubts, units, errors. Imports nothing of ours."""
