"""The timeline of a run's page: tasks, pauses and series on one axis."""
