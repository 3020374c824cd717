"""Workloads that ran together: slowdowns, fairness, what they fight over, and where to put them."""
