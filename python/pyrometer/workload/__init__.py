"""Workloads: what runs. Contract, registry, data cache, launch specification, runner process."""
