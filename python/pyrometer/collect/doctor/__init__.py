"""Checks of what this machine can measure, each by trying it, with a remedy for what fails."""
