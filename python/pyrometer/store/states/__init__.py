"""States of threads, joined with the sleeps and stacks that they are part of."""
