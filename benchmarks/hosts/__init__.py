"""How a run of very many executors is read: time, memory, size of its page, bytes from a store."""
