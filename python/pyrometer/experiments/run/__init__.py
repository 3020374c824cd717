"""Running an experiment: attempts at trials, in order, each in the journal."""
