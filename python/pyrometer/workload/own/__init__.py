"""The user's own workloads: files that become one without a line of Python."""
