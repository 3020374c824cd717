"""Trials of a tuning: asked for, run, and told, with a journal that loses nothing."""
