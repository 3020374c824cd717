"""Launch one trial, keep its record, end it."""
