"""What a tuning showed: report, terminal, page, and what to apply."""
