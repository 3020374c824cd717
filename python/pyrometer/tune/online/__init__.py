"""Recurring jobs: one careful step a scheduled run, with a promise of how little it may cost."""
