"""The machine: facts, placement, control groups, kernel settings, neighbours."""
