"""The workloads that come with Pyrometer."""
