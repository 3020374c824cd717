"""The host agent as a service: its programs, and what installs them on hosts of a cluster."""
