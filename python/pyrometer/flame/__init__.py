"""Flame graphs: stacks of a run folded, packed, drawn, searched."""
