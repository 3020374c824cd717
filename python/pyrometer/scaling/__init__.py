"""Speed-up over a number of workers: plan, curve, laws, verdict."""
