"""Figures of clusters: one job under several managers, clocks, kills, and planted causes."""
