"""Findings of Pyrometer beside what two public advisors say of the same event logs."""
