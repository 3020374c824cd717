"""Clusters of Kubernetes for tests: a real one on the test bed, and an invented API server."""
