"""What comes before a run: ``doctor``, ``workloads``."""
