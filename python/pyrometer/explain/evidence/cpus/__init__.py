"""What rules look at in CPUs: those that tasks were bound to, and who else held them."""
