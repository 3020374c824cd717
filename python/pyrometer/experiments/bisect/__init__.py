"""The first slower level of an ordered list: planned, run trial by trial, judged."""
