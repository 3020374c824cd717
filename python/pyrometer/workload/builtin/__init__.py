"""Workloads that come with Pyrometer, one module each."""
