"""Which configuration is tried next: engines that are asked and told."""
