"""Expressions in the texts of plans: what they read, what they parse, how they could cost less."""
