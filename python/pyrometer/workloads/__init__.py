"""What runs: the contract of a workload, the catalogue, data, the runner."""
