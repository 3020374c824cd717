"""Programs with a declared truth, to test measurements with."""
