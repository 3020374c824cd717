"""Causes in how work is divided: skew, stragglers, too few tasks and too many, driver time."""
