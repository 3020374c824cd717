"""A cluster of several hosts on one Linux machine, for tests: docs/how-to/clusters/test-bed.md."""
