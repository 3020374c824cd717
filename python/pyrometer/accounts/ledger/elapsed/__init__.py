"""Elapsed time along the critical path: what the application waited for, instant by instant."""
