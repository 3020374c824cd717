"""What rules look at in tables of a table format: its scans, and commands that change rows."""
