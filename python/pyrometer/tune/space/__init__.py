"""What may be varied for a job on this machine, and what may never be launched."""
