"""What mattered: importance of knobs, what could be put back, and what it costs elsewhere."""
