"""Streams of agents that run as services on hosts: whose they are, and what of them is a run's."""
