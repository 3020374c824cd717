"""A suite of queries, one by one: what each does, reads and spends."""
