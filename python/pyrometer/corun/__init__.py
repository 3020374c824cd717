"""Workloads that run at the same time: slow-down, fairness, placement."""
