"""What an experiment file says, and the trials that follow from it."""
