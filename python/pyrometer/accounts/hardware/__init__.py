"""Hardware counters: cycles, instructions, memory traffic, migrations."""
