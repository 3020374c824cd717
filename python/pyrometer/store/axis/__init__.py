"""One axis for a run of several hosts: what is known of their clocks, and how it is kept."""
