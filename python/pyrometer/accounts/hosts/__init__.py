"""What executors and tasks did on each of several hosts, by the event log alone."""
