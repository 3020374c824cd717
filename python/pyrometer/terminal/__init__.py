"""What all terminal output shares: consoles, tables, bars, progress."""
