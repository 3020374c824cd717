"""The tasks of a measured run, scheduled on other clusters."""
