"""Contract tests and truth programs for whoever extends Pyrometer."""
