"""Slow-down by measuring, found inside one JVM whose instruments are switched on and off."""
