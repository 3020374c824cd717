"""Runs on object stores, read through a private cache without being copied whole."""
