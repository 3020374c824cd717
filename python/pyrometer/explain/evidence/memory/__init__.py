"""What rules look at in the memory of executors: the heap, pauses of the collector, and caches."""
