"""Simulation: the tasks of a measured run, scheduled on any number of slots.

``measured`` reads what there was, ``graph`` makes a plan of it, ``cluster`` the executors, ``core``
has the native scheduler make schedules, ``account`` what they say.
"""
