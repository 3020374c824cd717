"""Modules that Pythons of an observed application import; nothing of Pyrometer imports them.

This folder alone is put on their ``PYTHONPATH``.
"""
