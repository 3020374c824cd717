"""Planted faults: whether `explain` finds them, in the right place, with the right seconds."""
