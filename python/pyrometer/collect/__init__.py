"""All that starts or observes processes."""
